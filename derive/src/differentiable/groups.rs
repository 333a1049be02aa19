//! Blocks that a macro was given: `$body` of `$body:block` comes as a group without delimiters around the block.
//!
//! The compiler takes such a block for a statement where one may stand; `syn` takes the group for an expression, which needs
//! a semicolon. So the group is opened where a statement begins and another one follows.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// The block in a group that contains nothing else.
fn block(group: &Group) -> Option<Group> {
    let mut tokens = group.stream().into_iter();
    match (group.delimiter(), tokens.next(), tokens.next()) {
        (Delimiter::None, Some(TokenTree::Group(inner)), None) if inner.delimiter() == Delimiter::Brace => Some(inner),
        _ => None,
    }
}

/// Whether a statement begins with a token after a block, and the block is not the start of an operand.
fn begins_statement(next: &TokenTree) -> bool {
    match next {
        TokenTree::Ident(ident) => ident != "as",
        TokenTree::Literal(_) => true,
        TokenTree::Group(group) => matches!(group.delimiter(), Delimiter::None | Delimiter::Brace),
        TokenTree::Punct(punct) => matches!(punct.as_char(), '#' | '\''),
    }
}

/// The tokens with groups of statements opened; nothing where there are none, so that the tokens keep their places.
fn opened(tokens: &TokenStream) -> Option<TokenStream> {
    let mut found = false;
    let mut result = Vec::new();
    let mut tokens = tokens.clone().into_iter().peekable();
    // Whether a statement may begin here.
    let mut begins = true;
    while let Some(token) = tokens.next() {
        let TokenTree::Group(group) = token else {
            begins = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == ';');
            result.push(token);
            continue;
        };
        let statement = block(&group).filter(|_| begins && tokens.peek().is_some_and(begins_statement));
        found |= statement.is_some();
        let mut group = statement.unwrap_or(group);
        if let Some(inside) = opened(&group.stream()) {
            let span = group.span();
            group = Group::new(group.delimiter(), inside);
            group.set_span(span);
            found = true;
        }
        begins = group.delimiter() == Delimiter::Brace;
        result.push(group.into());
    }
    found.then(|| result.into_iter().collect())
}

/// The tokens of an item, in which blocks from macros are statements.
pub fn with_statements(item: TokenStream) -> TokenStream {
    opened(&item).unwrap_or(item)
}
