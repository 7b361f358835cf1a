//! `Debug` for what carries private state: shown without it.
//!
//! Private state is the provider's own affair and may hold what no log should; its bytes would tell no reader anything.

/// Implements `Debug` with the named fields only, and a sign that there is more.
macro_rules! debug_without_private {
    ($($name:ident { $($field:ident),* })*) => {$(
        impl std::fmt::Debug for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.debug_struct(stringify!($name))$(.field(stringify!($field), &self.$field))*.finish_non_exhaustive()
            }
        }
    )*};
}

pub(crate) use debug_without_private;
