//! What generated code imports: the known names that it uses.

use std::collections::BTreeSet;

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::quote;

use super::text::ident;

/// The names that tokens use, of which the known ones are imported.
pub struct Imports {
    used: BTreeSet<String>,
}

impl Imports {
    /// The names in `tokens`.
    pub fn of(tokens: &TokenStream) -> Self {
        fn collect(tokens: TokenStream, used: &mut BTreeSet<String>) {
            // What stands behind `::` belongs to what stands before it.
            let mut of_path = 0;
            for token in tokens {
                of_path = match token {
                    TokenTree::Punct(punct) if punct.as_char() == ':' => of_path + 1,
                    TokenTree::Ident(name) => {
                        if of_path < 2 {
                            used.insert(name.to_string());
                        }
                        0
                    }
                    TokenTree::Group(group) => {
                        collect(group.stream(), used);
                        0
                    }
                    TokenTree::Punct(_) | TokenTree::Literal(_) => 0,
                }
            }
        }
        let mut used = BTreeSet::new();
        collect(tokens.clone(), &mut used);
        // What is defined here is not imported.
        let mut previous = None;
        let mut defined = BTreeSet::new();
        for token in tokens.clone() {
            if let TokenTree::Ident(name) = token {
                let name = name.to_string();
                if previous.as_deref() == Some("const") {
                    defined.insert(name.clone());
                }
                previous = Some(name);
            }
        }
        Self { used: used.difference(&defined).cloned().collect() }
    }

    /// Imports those of `names` that are used, from `path`.
    pub fn take<'n>(&mut self, path: &str, names: impl IntoIterator<Item = &'n str>) -> Option<TokenStream> {
        let taken: BTreeSet<&str> = names.into_iter().filter(|name| self.used.remove(*name)).collect();
        self.import(path, &taken.into_iter().map(ident).collect::<Vec<_>>())
    }

    /// Imports everything that is spelled like a constant and not imported yet.
    pub fn constants(&mut self, path: &str) -> Option<TokenStream> {
        let is_constant = |name: &&String| {
            name.len() > 1
                && name.starts_with(|c: char| c.is_ascii_uppercase())
                && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
        };
        let names: Vec<Ident> = self.used.iter().filter(is_constant).map(|name| ident(name)).collect();
        self.import(path, &names)
    }

    fn import(&self, path: &str, names: &[Ident]) -> Option<TokenStream> {
        let path: TokenStream = path.parse().expect("a path of the runtime");
        match names {
            [] => None,
            [name] => Some(quote!(use #path::#name;)),
            names => Some(quote!(use #path::{#(#names),*};)),
        }
    }
}
