//! Names of allocated types: those after `new`.

use pdb::{FallibleIterator, ItemFinder, PrimitiveKind, TypeData, TypeIndex, TypeInformation};

/// Maximum nesting of pointers and arrays; anything deeper is no name.
const MAX_DEPTH: usize = 16;

/// Finds types by their index.
pub(super) struct TypeNames<'a> {
    finder: ItemFinder<'a, TypeIndex>,
}

impl<'a> TypeNames<'a> {
    /// Reads where each type is. Cost: a look at the head of each type.
    pub(super) fn new(types: &'a TypeInformation<'_>) -> pdb::Result<Self> {
        let mut finder = types.finder();
        let mut iter = types.iter();
        while iter.next()?.is_some() {
            finder.update(&iter);
        }
        Ok(Self { finder })
    }

    /// The name of a type; `None` if it has none, or is `void`, which compilers write if they do not know the type.
    pub(super) fn name(&self, index: TypeIndex) -> Option<String> {
        let (name, is_void) = self.spell(index, MAX_DEPTH)?;
        (!is_void && !name.is_empty()).then_some(name)
    }

    /// The name, and whether it is plain `void`.
    fn spell(&self, index: TypeIndex, depth: usize) -> Option<(String, bool)> {
        let depth = depth.checked_sub(1)?;
        let inner = |index, behind: &str| Some((self.spell(index, depth)?.0 + behind, false));
        match self.finder.find(index).ok()?.parse().ok()? {
            TypeData::Class(class) => Some((class.name.to_string().into_owned(), false)),
            TypeData::Union(union) => Some((union.name.to_string().into_owned(), false)),
            TypeData::Enumeration(enumeration) => Some((enumeration.name.to_string().into_owned(), false)),
            TypeData::Pointer(pointer) => inner(pointer.underlying_type, " *"),
            TypeData::Array(array) => inner(array.element_type, "[]"),
            TypeData::Modifier(modifier) => self.spell(modifier.underlying_type, depth),
            TypeData::Procedure(_) | TypeData::MemberFunction(_) => Some(("(function)".to_owned(), false)),
            TypeData::Primitive(primitive) => {
                let name = primitive_name(primitive.kind)?;
                match primitive.indirection {
                    Some(_) => Some((format!("{name} *"), false)),
                    None => Some((name.to_owned(), name == "void")),
                }
            }
            _ => None,
        }
    }
}

fn primitive_name(kind: PrimitiveKind) -> Option<&'static str> {
    Some(match kind {
        PrimitiveKind::Void | PrimitiveKind::NoType => "void",
        PrimitiveKind::Char | PrimitiveKind::I8 => "signed char",
        PrimitiveKind::UChar | PrimitiveKind::U8 => "unsigned char",
        PrimitiveKind::RChar => "char",
        PrimitiveKind::WChar => "wchar_t",
        PrimitiveKind::Char8 => "char8_t",
        PrimitiveKind::RChar16 => "char16_t",
        PrimitiveKind::RChar32 => "char32_t",
        PrimitiveKind::Short | PrimitiveKind::I16 => "short",
        PrimitiveKind::UShort | PrimitiveKind::U16 => "unsigned short",
        PrimitiveKind::Long => "long",
        PrimitiveKind::ULong => "unsigned long",
        PrimitiveKind::I32 => "int",
        PrimitiveKind::U32 => "unsigned int",
        PrimitiveKind::Quad | PrimitiveKind::I64 => "long long",
        PrimitiveKind::UQuad | PrimitiveKind::U64 => "unsigned long long",
        PrimitiveKind::F32 | PrimitiveKind::F32PP => "float",
        PrimitiveKind::F64 => "double",
        PrimitiveKind::F80 | PrimitiveKind::F128 => "long double",
        PrimitiveKind::Bool8 => "bool",
        PrimitiveKind::HRESULT => "HRESULT",
        _ => return None,
    })
}
