//! Function names without the parts that differ between instances: template and generic arguments, and the trait of a
//! Rust method.
//!
//! `std::vector<int,std::allocator<int> >::push_back` becomes `std::vector::push_back`, and `<alloc::vec::Vec<T,A> as
//! core::iter::Extend<T>>::extend` becomes `alloc::vec::Vec::extend`.

use std::borrow::Cow;

/// Operators that contain angle brackets, the longest first.
const OPERATORS: [&str; 9] = ["<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->"];

/// Returns a function's name without template arguments. Cost: one step per byte.
pub(super) fn plain_name(name: &str) -> Cow<'_, str> {
    if !name.contains('<') {
        return Cow::Borrowed(name);
    }
    let name = of_type(name);
    let mut plain = String::with_capacity(name.len());
    let (mut depth, mut rest) = (0usize, &*name);
    while let Some(c) = rest.chars().next() {
        if depth == 0 && plain.ends_with("operator") {
            let operator = OPERATORS.into_iter().chain(["<", ">"]).find(|operator| rest.starts_with(operator));
            if let Some(operator) = operator {
                plain.push_str(operator);
                rest = &rest[operator.len()..];
                continue;
            }
        }
        match c {
            // Compiler-generated names in angle brackets are names, not argument lists.
            '<' if depth == 0 && ["<lambda", "<unnamed"].iter().any(|made| rest.starts_with(made)) => {
                let (lambda, behind) = rest.find('>').map_or((rest, ""), |end| rest.split_at(end + 1));
                plain.push_str(lambda);
                rest = behind;
                continue;
            }
            '<' => depth += 1,
            '>' if depth > 0 => depth -= 1,
            c if depth == 0 => plain.push(c),
            _ => {}
        }
        rest = &rest[c.len_utf8()..];
    }
    let plain = plain.replace("::::", "::");
    Cow::Owned(plain.strip_suffix("::").map_or_else(|| plain.clone(), str::to_owned))
}

/// Reduces `<Type as Trait>::method` and `<Type>::method` of Rust to `Type::method`.
fn of_type(name: &str) -> Cow<'_, str> {
    let Some(inside) = name.strip_prefix('<') else { return Cow::Borrowed(name) };
    let mut depth = 1usize;
    let mut trait_at = None;
    for (at, c) in inside.char_indices() {
        match c {
            '<' => depth += 1,
            // The `>` of the arrow in a function type closes nothing.
            '>' if inside[..at].ends_with('-') => {}
            '>' => depth -= 1,
            ' ' if depth == 1 && trait_at.is_none() && inside[at..].starts_with(" as ") => trait_at = Some(at),
            _ => {}
        }
        if depth == 0 {
            let behind = &inside[at + 1..];
            // Compiler-generated names such as `<lambda_1>` start with `<`, too, but have neither a trait nor a path.
            let of = &inside[..trait_at.unwrap_or(at)];
            return match behind.starts_with("::") && (trait_at.is_some() || of.contains("::")) {
                true => Cow::Owned(format!("{}{behind}", of.trim_start_matches(['&', '*']).trim_start_matches("mut "))),
                false => Cow::Borrowed(name),
            };
        }
    }
    Cow::Borrowed(name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn arguments_of_templates_are_left_out() {
        for (name, plain) in [
            ("malloc", "malloc"),
            ("operator new[]", "operator new[]"),
            ("std::vector<int,std::allocator<int> >::_Emplace_reallocate<int const &>", "std::vector::_Emplace_reallocate"),
            ("std::_Allocate<16,std::_Default_allocate_traits,0>", "std::_Allocate"),
            ("operator<", "operator<"),
            ("operator<<<char,std::char_traits<char> >", "operator<<"),
            ("Foo<int>::operator->", "Foo::operator->"),
            ("a::operator<=><int>", "a::operator<=>"),
            ("<lambda_1a2b>::operator()", "<lambda_1a2b>::operator()"),
            ("Level::Load::<lambda_1>::operator()<int>", "Level::Load::<lambda_1>::operator()"),
            ("alloc::raw_vec::RawVec<u8,alloc::alloc::Global>::grow_one", "alloc::raw_vec::RawVec::grow_one"),
            ("<alloc::vec::Vec<T,A> as core::iter::Extend<T>>::extend", "alloc::vec::Vec::extend"),
            ("<alloc::vec::Vec<T>>::push", "alloc::vec::Vec::push"),
            ("alloc::vec::Vec::<T>::push", "alloc::vec::Vec::push"),
            ("<std::alloc::System as core::alloc::GlobalAlloc>::alloc", "std::alloc::System::alloc"),
            ("<F as fn(A) -> B>::call", "F::call"),
            ("core::ptr::drop_in_place::<T>", "core::ptr::drop_in_place"),
            ("a<b", "a"),
            ("a>b", "a>b"),
            ("<", ""),
            ("", ""),
        ] {
            assert_eq!(plain_name(name), plain, "{name}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_name(name in "(<|>|::|operator| as |->|a|ä|\\*|&){0,24}") {
            let plain = plain_name(&name);
            prop_assert!(plain.len() <= name.len());
            if !name.contains('<') {
                prop_assert_eq!(&*plain, &*name);
            }
        }
    }
}
