//! Keys of groups.

/// A part of a group's key. The layer is always part of the key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum By {
    /// Process instance.
    Process,
    /// Handle or name of the heap.
    Heap,
    /// Recorded addresses of the stack.
    Stack,
    /// Recorded addresses of the freeing stack. Blocks that were not freed are in the group of the empty stack,
    /// together with those freed without a stack.
    FreedStack,
    /// Allocated C++ type.
    Type,
    /// Allocating thread; null also if no event reports it.
    Thread,
    /// Size, in powers of two.
    Size,
    /// Lifetime, in decades of seconds; unknown lifetimes are one group.
    Lifetime,
    /// Innermost function; null also if no stack was recorded.
    Function,
    /// Module of that function; null also if none is known.
    Module,
    /// Tag of the stack, according to the rules.
    Tag,
    /// Responsible caller.
    Responsible,
    /// Responsible module; for a frame outside all modules its address.
    ResponsibleModule,
    /// Owner: for commit according to its stack, for blocks their heap or tracker.
    Owner,
}

impl By {
    /// All keys.
    pub const ALL: [Self; 14] = [
        Self::Process,
        Self::Heap,
        Self::Stack,
        Self::FreedStack,
        Self::Type,
        Self::Thread,
        Self::Size,
        Self::Lifetime,
        Self::Function,
        Self::Module,
        Self::Tag,
        Self::Responsible,
        Self::ResponsibleModule,
        Self::Owner,
    ];

    /// Returns its word in arguments and files.
    pub fn word(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::Heap => "heap",
            Self::Stack => "stack",
            Self::FreedStack => "freed_stack",
            Self::Type => "type",
            Self::Thread => "thread",
            Self::Function => "function",
            Self::Module => "module",
            Self::Size => "size",
            Self::Lifetime => "lifetime",
            Self::Tag => "tag",
            Self::Responsible => "responsible",
            Self::ResponsibleModule => "responsible_module",
            Self::Owner => "owner",
        }
    }

    /// Returns whether any of the keys depends on the functions of stacks.
    pub fn need_functions(by: &[Self]) -> bool {
        by.iter().any(|by| matches!(by, Self::Function | Self::Module | Self::Tag | Self::Responsible | Self::ResponsibleModule))
    }
}
