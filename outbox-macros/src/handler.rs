//! `#[outbox::handler]`: read the arguments and the function, check them, write the registration.

mod args;
mod signature;
mod write;

use proc_macro2::TokenStream;

use crate::faults::Faults;

/// The function as it was written, followed by its registration or by what is wrong with it.
pub(crate) fn expand(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let added = match read(arguments, item.clone()) {
        Ok((settings, function)) => write::registration(&settings, &function),
        Err(faults) => faults.into_compile_error(),
    };
    [item, added].into_iter().collect()
}

fn read(
    arguments: TokenStream,
    item: TokenStream,
) -> Result<(args::Settings, signature::Function), syn::Error> {
    let mut faults = Faults::default();
    let settings = args::read(arguments, &mut faults);
    match signature::read(item) {
        Ok(function) => {
            args::check_names(&settings, &function.ident, &mut faults);
            faults.or((settings, function))
        }
        Err(fault) => Err(faults.and(fault)),
    }
}
