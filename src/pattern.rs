//! Names as patterns: `*` stands for anything, `\*` for a star itself. There is one way to
//! match them, whatever is asked for by name.
//!
//! Cost: a step for each byte of the name, however many stars there are.

/// A pattern, taken apart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pattern {
    /// What stands between the stars; at least one.
    parts: Box<[Box<str>]>,
}

impl Pattern {
    /// From what somebody wrote.
    pub fn new(text: &str) -> Self {
        let mut parts = vec![String::new()];
        let mut rest = text.chars().peekable();
        while let Some(c) = rest.next() {
            let is_star_itself = c == '\\' && rest.next_if_eq(&'*').is_some();
            match (parts.last_mut(), c) {
                (_, '*') => parts.push(String::new()),
                (Some(part), c) => part.push(if is_star_itself { '*' } else { c }),
                (None, _) => {} // there is always a last one
            }
        }
        Self { parts: parts.into_iter().map(String::into_boxed_str).collect() }
    }

    /// The pattern that only `name` fits.
    pub fn escape(name: &str) -> String {
        name.replace('*', "\\*")
    }

    /// Whether a name is what the pattern says.
    pub fn fits(&self, name: &str) -> bool {
        let Some((first, rest)) = self.parts.split_first() else { return false };
        let Some((last, between)) = rest.split_last() else { return **first == *name };
        let Some(mut name) = name.strip_prefix(&**first) else { return false };
        // The first place that fits leaves most room for what follows.
        for part in between {
            match name.find(&**part) {
                Some(at) => name = &name[at + part.len()..],
                None => return false,
            }
        }
        name.ends_with(&**last)
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

    /// Tries all that each star can stand for.
    fn naive(pattern: &[char], name: &[char]) -> bool {
        match pattern {
            [] => name.is_empty(),
            ['*', rest @ ..] => (0..=name.len()).any(|taken| naive(rest, &name[taken..])),
            ['\\', '*', rest @ ..] => name.first() == Some(&'*') && naive(rest, &name[1..]),
            [c, rest @ ..] => name.first() == Some(c) && naive(rest, &name[1..]),
        }
    }

    proptest! {
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
