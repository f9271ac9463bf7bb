//! Checks of a PDB before a reader that follows its references is used on it: scopes of symbols close in order, and
//! names of ids refer only to earlier ids. Otherwise a damaged PDB could send the reader into an endless loop, or
//! deeper than any stack.
//!
//! Cost: a look at the head of each symbol of a module, and at each id.

use pdb::{FallibleIterator, IdData, IdInformation, ItemFinder, SymbolIter, TypeData, TypeIndex, TypeInformation};

use super::PdbError;

/// Maximum nesting of scopes; compilers write some dozens.
const MAX_DEPTH: usize = 256;

/// First index that is not a built-in type.
const FIRST_TYPE: u32 = 0x1000;

/// Procedures that the reader's own list of scopes leaves out: S_LPROC32_ID, S_LPROCMIPS_ID, S_LPROCIA64_ID.
const MORE_SCOPES: [u16; 3] = [0x1146, 0x1148, 0x114A];

/// Checks that every scope of a module ends where it says, and calls `each` with the kind and the bytes of every symbol.
pub(super) fn check_symbols(mut symbols: SymbolIter<'_>, mut each: impl FnMut(u16, &[u8])) -> Result<(), PdbError> {
    let damaged = || PdbError::Damaged("scopes of symbols overlap".to_owned());
    let mut open: Vec<u32> = Vec::new();
    while let Some(symbol) = symbols.next()? {
        let (kind, bytes) = (symbol.raw_kind(), symbol.raw_bytes());
        if symbol.starts_scope() || MORE_SCOPES.contains(&kind) {
            // The kind is followed by the offsets of the parent and of the end.
            let end = bytes.get(6..10).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes).ok_or_else(damaged)?;
            if open.len() >= MAX_DEPTH {
                return Err(damaged());
            }
            open.push(end);
        } else if symbol.ends_scope() {
            let end = open.pop().ok_or_else(damaged)?;
            // 0: the linker did not fill it in. Readers then see no scope at all.
            if end != symbol.index().0 && (end != 0 || !open.is_empty()) {
                return Err(damaged());
            }
        }
        each(kind, bytes);
    }
    if open.is_empty() { Ok(()) } else { Err(damaged()) }
}

/// Checks the ids of a PDB: the scope of each is a name or an earlier id, and the class of each member function leads
/// to something with a name.
pub(super) fn check_ids(ids: &IdInformation<'_>, types: &TypeInformation<'_>) -> Result<(), PdbError> {
    let damaged = || PdbError::Damaged("names of functions refer to each other".to_owned());
    let mut finder = types.finder();
    let mut iter = types.iter();
    while iter.next()?.is_some() {
        finder.update(&iter);
    }
    let mut depths: Vec<u8> = Vec::with_capacity(ids.len());
    let mut first = None;
    let mut checked = TypeIndex(0);
    let mut ids = ids.iter();
    while let Some(item) = ids.next()? {
        let base = *first.get_or_insert(item.index().0);
        let mut depth = 0;
        match item.parse() {
            Ok(IdData::Function(function)) => {
                if let Some(scope) = function.scope {
                    let above = scope.0.checked_sub(base).and_then(|i| depths.get(i as usize)).ok_or_else(damaged)?;
                    depth = above.checked_add(1).ok_or_else(damaged)?;
                }
            }
            Ok(IdData::MemberFunction(function)) if function.parent != checked => {
                checked = function.parent;
                // A type that does not exist is printed as a number.
                if checked.0 >= FIRST_TYPE && finder.find(checked).is_ok() && !ends_soon(&finder, checked) {
                    return Err(damaged());
                }
            }
            // As a scope, a list of strings would lead to arbitrary types.
            Ok(IdData::StringList(_)) => depth = u8::MAX,
            _ => {}
        }
        depths.push(depth);
    }
    Ok(())
}

/// Maximum steps to something with a name: pointers to arrays of pointers, …
const MAX_STEPS: usize = 16;

/// Whether a type leads to something with a name in few steps.
fn ends_soon(finder: &ItemFinder<'_, TypeIndex>, mut index: TypeIndex) -> bool {
    let mut in_array = false;
    for _ in 0..MAX_STEPS {
        index = match finder.find(index).and_then(|item| item.parse()) {
            Ok(TypeData::Pointer(pointer)) => pointer.underlying_type,
            Ok(TypeData::Modifier(modifier)) => modifier.underlying_type,
            Ok(TypeData::Array(array)) => {
                in_array = true;
                array.element_type
            }
            // The reader asks for the size of an array's elements.
            Ok(TypeData::Enumeration(enumeration)) => return !in_array || enumeration.underlying_type.0 < FIRST_TYPE,
            Ok(TypeData::Class(_) | TypeData::Union(_) | TypeData::Primitive(_)) => return true,
            Err(_) => return true, // the reader gets no further either
            _ => return false,
        };
    }
    false
}
