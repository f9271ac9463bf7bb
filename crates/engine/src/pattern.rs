//! Patterns for names: `*` matches anything, `\*` a star itself. All lookups by name use this matcher.
//!
//! Cost: one step for each byte of the name, independent of the number of stars.

/// A parsed pattern.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pattern {
    /// The texts between the stars; at least one.
    parts: Box<[Box<str>]>,
}

impl Pattern {
    /// Parses a pattern.
    pub fn new(text: &str) -> Self {
        let mut parts = vec![String::new()];
        let mut rest = text.chars().peekable();
        while let Some(c) = rest.next() {
            let is_star_itself = c == '\\' && rest.next_if_eq(&'*').is_some();
            match (parts.last_mut(), c) {
                (_, '*') => parts.push(String::new()),
                (Some(part), c) => part.push(if is_star_itself { '*' } else { c }),
                (None, _) => {} // `parts` is never empty
            }
        }
        Self { parts: parts.into_iter().map(String::into_boxed_str).collect() }
    }

    /// The pattern that matches only `name`.
    pub fn escape(name: &str) -> String {
        name.replace('*', "\\*")
    }

    /// Whether a name matches the pattern.
    pub fn fits(&self, name: &str) -> bool {
        let Some((first, rest)) = self.parts.split_first() else { return false };
        let Some((last, between)) = rest.split_last() else { return **first == *name };
        let Some(mut name) = name.strip_prefix(&**first) else { return false };
        // The first match leaves the most room for the following parts.
        for part in between {
            match name.find(&**part) {
                Some(at) => name = &name[at + part.len()..],
                None => return false,
            }
        }
        name.ends_with(&**last)
    }
}

impl Pattern {
    /// Whether any name can match that starts with `begin` and continues, if at all, only with characters that `rest` accepts.
    pub(crate) fn may_fit(&self, begin: &str, rest: impl Fn(char) -> bool) -> bool {
        let is_rest = |text: &str| text.chars().all(&rest);
        // Whether the part can start at the end of the known text, or behind it, and extend beyond.
        let goes_beyond = |known: &str, part: &str| {
            let ends = part.char_indices().map(|(at, _)| at).chain([part.len()]);
            ends.into_iter().any(|at| known.ends_with(&part[..at]) && is_rest(&part[at..]))
        };
        let Some((first, others)) = self.parts.split_first() else { return false };
        let Some((last, between)) = others.split_last() else {
            return first.strip_prefix(begin).is_some_and(is_rest);
        };
        // The unmatched rest of `begin`; empty once a part lies beyond it.
        let mut known = match (begin.strip_prefix(&**first), first.strip_prefix(begin)) {
            (Some(known), _) => known,
            (None, Some(beyond)) if is_rest(beyond) => "",
            (None, _) => return false,
        };
        for part in between {
            known = match known.find(&**part) {
                Some(at) => &known[at + part.len()..],
                None if goes_beyond(known, part) => "",
                None => return false,
            };
        }
        goes_beyond(known, last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, fits, others) in [
            ("Node", &["Node"][..], &["node", "Nodes", "aNode", ""][..]),
            ("*", &["", "Node"], &[]),
            ("**", &["", "Node"], &[]),
            ("Node*", &["Node", "Node<int>"], &["aNode"]),
            ("*<*>", &["a<b>", "<>", "a<b>>"], &["a<b", "ab>"]),
            ("a*a", &["aa", "aba"], &["a", "ab"]),
            ("a*b*c", &["abc", "a-b-c", "abcbc"], &["acb"]),
            ("", &[""], &["a"]),
            ("(unknown type)", &["(unknown type)"], &[]),
            (r"operator\*", &["operator*"], &["operator new", "operator", r"operator\*"]),
            (r"a\b*", &[r"a\b", r"a\bc"], &["ab"]),
            (r"\**\", &[r"*\", r"*a\"], &[r"a\", "*"]),
        ] {
            let compiled = Pattern::new(pattern);
            assert!(fits.iter().all(|name| compiled.fits(name)), "{pattern}");
            assert!(!others.iter().any(|name| compiled.fits(name)), "{pattern}");
        }
    }

    /// Tries every text that each star can match.
    fn naive(pattern: &[char], name: &[char]) -> bool {
        match pattern {
            [] => name.is_empty(),
            ['*', rest @ ..] => (0..=name.len()).any(|taken| naive(rest, &name[taken..])),
            ['\\', '*', rest @ ..] => name.first() == Some(&'*') && naive(rest, &name[1..]),
            [c, rest @ ..] => name.first() == Some(c) && naive(rest, &name[1..]),
        }
    }

    #[test]
    fn a_begin_says_what_can_fit_behind_it() {
        let may = |pattern: &str, begin: &str| Pattern::new(pattern).may_fit(begin, |c| c.is_ascii_hexdigit());
        for pattern in ["game.exe!*", "*!+0x1*", "game.exe!+0x12", "*", "*12", "*e!*x*7", "g*x"] {
            assert!(may(pattern, "game.exe!+0x"), "{pattern}");
        }
        for pattern in ["other.dll!*", "*!load", "*a*b*!*", "*z*", "*12z", "game.exe", "game.exe!+0x1g", ""] {
            assert!(!may(pattern, "game.exe!+0x"), "{pattern}");
        }
    }

    proptest! {
        #[test]
        fn what_fits_may_fit(pattern in r"[ab*]{0,7}", begin in r"[ab]{0,5}", rest in r"[b]{0,4}") {
            let name = format!("{begin}{rest}");
            let compiled = Pattern::new(&pattern);
            prop_assert!(!compiled.fits(&name) || compiled.may_fit(&begin, |c| c == 'b'), "{pattern} {begin} {rest}");
            // And the answer is yes only if some name matches.
            let fits = (0..16).any(|more| compiled.fits(&format!("{begin}{}", "b".repeat(more))));
            prop_assert_eq!(compiled.may_fit(&begin, |c| c == 'b'), fits, "{} {}", pattern, begin);
        }

        #[test]
        fn patterns_fit_what_trying_everything_says(pattern in r"[abß*\\]{0,8}", name in r"[abß*\\]{0,10}") {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            prop_assert_eq!(Pattern::new(&pattern).fits(&name), naive(&chars(&pattern), &chars(&name)));
            let only = Pattern::new(&Pattern::escape(&name));
            prop_assert!(only.fits(&name));
            prop_assert_eq!(only.fits(&pattern), name == pattern);
        }
    }
}
