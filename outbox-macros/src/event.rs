//! `#[derive(OutboxEvent)]`: read the type and its attributes, check them, write the impl.

mod attrs;
mod input;
mod shadow;
mod stub;
mod write;

use proc_macro2::TokenStream;
use syn::DeriveInput;

use crate::faults::Faults;

/// The impl, or what is wrong with the type and an impl that keeps its uses quiet.
pub(crate) fn expand(item: TokenStream) -> TokenStream {
    let item: DeriveInput = match syn::parse2(item) {
        Ok(item) => item,
        Err(fault) => return fault.into_compile_error(),
    };
    let mut faults = Faults::default();
    let settings = attrs::read(&item, &mut faults);
    input::check(&item, &mut faults);
    match faults.or(()) {
        Ok(()) => write::event(&settings, &item),
        Err(faults) => {
            let stub = stub::event(&settings.paths, &item);
            [faults.into_compile_error(), stub].into_iter().collect()
        }
    }
}
