//! The effects of blocks apart from their value, by syntax.

use super::names::{bindings, root, variable};
use super::scopes::{Declared, Scopes};
use proc_macro2::Ident;
use syn::visit::{self, Visit};
use syn::{BinOp, Block, Expr, ExprForLoop};

/// The method for compound assignment to the elements at an index.
pub fn method(op: &BinOp) -> Option<&'static str> {
    Some(match op {
        BinOp::AddAssign(_) => "add_assign_at",
        BinOp::SubAssign(_) => "sub_assign_at",
        BinOp::MulAssign(_) => "mul_assign_at",
        BinOp::DivAssign(_) => "div_assign_at",
        BinOp::RemAssign(_) => "rem_assign_at",
        BinOp::BitAndAssign(_) => "bitand_assign_at",
        BinOp::BitOrAssign(_) => "bitor_assign_at",
        BinOp::BitXorAssign(_) => "bitxor_assign_at",
        BinOp::ShlAssign(_) => "shl_assign_at",
        BinOp::ShrAssign(_) => "shr_assign_at",
        _ => return None,
    })
}

/// Whether an operator assigns, as `+=`.
pub fn assigns(op: &BinOp) -> bool {
    method(op).is_some()
}

/// Whether control may leave an expression, or a macro or a reference change something elsewhere.
fn reaches_outside(expression: &Expr) -> bool {
    match expression {
        Expr::Return(_)
        | Expr::Try(_)
        | Expr::Break(_)
        | Expr::Continue(_)
        | Expr::Macro(_)
        | Expr::Await(_)
        | Expr::Yield(_) => true,
        Expr::Reference(reference) => reference.mutability.is_some(),
        _ => false,
    }
}

struct Effects<'s> {
    scopes: &'s Scopes,
    /// The `let mut`s inside.
    own: Vec<Ident>,
    found: bool,
}

impl Effects<'_> {
    fn is_mutable(&self, name: &Ident) -> bool {
        self.own.contains(name) || self.scopes.find(name).is_some_and(Declared::is_mutable)
    }
}

impl<'a> Visit<'a> for Effects<'_> {
    fn visit_expr(&mut self, expression: &'a Expr) {
        self.found |= match expression {
            _ if reaches_outside(expression) => true,
            Expr::Assign(_) => true,
            Expr::Binary(binary) => assigns(&binary.op),
            Expr::MethodCall(call) => root(&call.receiver).is_some_and(|root| self.is_mutable(root)),
            _ => false,
        };
        visit::visit_expr(self, expression);
    }

    fn visit_stmt_macro(&mut self, _: &'a syn::StmtMacro) {
        self.found = true;
    }

    fn visit_local(&mut self, local: &'a syn::Local) {
        visit::visit_local(self, local);
        self.own.extend(bindings(&local.pat).into_iter().filter(|(_, mutable)| *mutable).map(|(name, _)| name));
    }

    fn visit_item(&mut self, _: &'a syn::Item) {}
}

/// Whether a block is no more than a value: without assignment, `return`, `?`, `break`, macro, or method of a `let mut`.
pub fn is_pure(block: &Block, scopes: &Scopes) -> bool {
    let mut effects = Effects { scopes, own: Vec::new(), found: false };
    effects.visit_block(block);
    !effects.found
}

/// Whether all that a block does is to assign: it has no value, and nothing leaves it.
pub fn only_assigns(block: &Block) -> bool {
    #[derive(Default)]
    struct Others(bool);
    impl<'a> Visit<'a> for Others {
        fn visit_expr(&mut self, expression: &'a Expr) {
            self.0 |= reaches_outside(expression);
            visit::visit_expr(self, expression);
        }
        fn visit_stmt_macro(&mut self, _: &'a syn::StmtMacro) {
            self.0 = true;
        }
        fn visit_item(&mut self, _: &'a syn::Item) {}
    }
    /// Whether an expression at the end of a block has no value.
    fn is_without_value(expression: &Expr) -> bool {
        match expression {
            Expr::Assign(_) | Expr::ForLoop(_) | Expr::While(_) => true,
            Expr::Binary(binary) => assigns(&binary.op),
            Expr::Block(inner) => ends_without_value(&inner.block),
            Expr::If(choice) => {
                ends_without_value(&choice.then_branch)
                    && choice.else_branch.as_ref().is_none_or(|(_, other)| is_without_value(other))
            }
            _ => false,
        }
    }
    fn ends_without_value(block: &Block) -> bool {
        match block.stmts.last() {
            Some(syn::Stmt::Expr(tail, None)) => is_without_value(tail),
            _ => true,
        }
    }
    let mut others = Others::default();
    others.visit_block(block);
    !others.0 && ends_without_value(block)
}

/// Whether an expression is no more than a value.
pub fn is_pure_expression(expression: &Expr, scopes: &Scopes) -> bool {
    let mut effects = Effects { scopes, own: Vec::new(), found: false };
    effects.visit_expr(expression);
    !effects.found
}

/// The range of `rolled(range)`.
pub fn rolled_range(iterated: &Expr) -> Option<&Expr> {
    let Expr::Call(call) = iterated else { return None };
    let Expr::Path(function) = &*call.func else { return None };
    let rolled = function.path.segments.last().is_some_and(|segment| segment.ident == "rolled");
    if rolled { call.args.first() } else { None }
}

/// How a variable from outside is changed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// It is assigned, or a part of it.
    Assigned,
    /// It is lent by `&mut`.
    Lent,
    /// One of [`COLLECTING`] is called on it.
    Collected,
    /// It is called: a closure may change its captures.
    Called,
}

/// A change of a variable from outside.
pub struct Change {
    pub name: Ident,
    pub manner: Manner,
}

/// Methods that change their receiver, whatever it is.
const COLLECTING: [&str; 5] = ["push", "push_back", "push_front", "push_str", "extend"];

/// The changes of variables that are not bound inside.
#[derive(Default)]
struct Changes {
    own: Vec<Ident>,
    found: Vec<Change>,
}

impl Changes {
    fn bind(&mut self, pattern: &syn::Pat) {
        self.own.extend(bindings(pattern).into_iter().map(|(name, _)| name));
    }

    /// Visits a scope, whose bindings end with it.
    fn within(&mut self, visit: impl FnOnce(&mut Self)) {
        let outer = self.own.len();
        visit(self);
        self.own.truncate(outer);
    }

    fn add(&mut self, place: &Expr, manner: Manner) {
        match place {
            Expr::Tuple(tuple) => tuple.elems.iter().for_each(|element| self.add(element, manner)),
            Expr::Paren(inner) => self.add(&inner.expr, manner),
            Expr::Group(inner) => self.add(&inner.expr, manner),
            _ => {
                let outer = root(place).filter(|name| !self.own.contains(name));
                self.found.extend(outer.map(|name| Change { name: name.clone(), manner }));
            }
        }
    }
}

impl<'a> Visit<'a> for Changes {
    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Assign(assign) => self.add(&assign.left, Manner::Assigned),
            Expr::Binary(binary) if assigns(&binary.op) => self.add(&binary.left, Manner::Assigned),
            Expr::Reference(reference) if reference.mutability.is_some() => self.add(&reference.expr, Manner::Lent),
            Expr::MethodCall(call) if COLLECTING.contains(&&call.method.to_string()[..]) => {
                self.add(&call.receiver, Manner::Collected)
            }
            Expr::Call(call) if variable(&call.func).is_some() => self.add(&call.func, Manner::Called),
            _ => {}
        }
        visit::visit_expr(self, expression);
    }
    fn visit_block(&mut self, block: &'a Block) {
        // Declarations of a block end with it.
        self.within(|inner| visit::visit_block(inner, block));
    }
    fn visit_local(&mut self, local: &'a syn::Local) {
        visit::visit_local(self, local);
        self.bind(&local.pat);
    }
    // Bindings of `let`, `for`, `match` and closures hold for the rest of those.
    fn visit_expr_let(&mut self, condition: &'a syn::ExprLet) {
        self.visit_expr(&condition.expr);
        self.bind(&condition.pat);
    }
    fn visit_expr_if(&mut self, choice: &'a syn::ExprIf) {
        self.within(|inner| {
            inner.visit_expr(&choice.cond);
            inner.visit_block(&choice.then_branch);
        });
        choice.else_branch.iter().for_each(|(_, other)| self.visit_expr(other));
    }
    fn visit_expr_while(&mut self, repeated: &'a syn::ExprWhile) {
        self.within(|inner| visit::visit_expr_while(inner, repeated));
    }
    fn visit_expr_for_loop(&mut self, repeated: &'a ExprForLoop) {
        self.visit_expr(&repeated.expr);
        self.within(|inner| {
            inner.bind(&repeated.pat);
            inner.visit_block(&repeated.body);
        });
    }
    fn visit_arm(&mut self, arm: &'a syn::Arm) {
        self.within(|inner| {
            inner.bind(&arm.pat);
            visit::visit_arm(inner, arm);
        });
    }
    fn visit_expr_closure(&mut self, closure: &'a syn::ExprClosure) {
        self.within(|inner| {
            closure.inputs.iter().for_each(|input| inner.bind(input));
            inner.visit_expr(&closure.body);
        });
    }
    fn visit_item(&mut self, _: &'a syn::Item) {}
}

/// The variables that a loop's body assigns, in the order in which it does.
pub fn assigned(body: &Block) -> Vec<Ident> {
    let mut changes = Changes::default();
    changes.visit_block(body);
    let mut names = Vec::new();
    for Change { name, manner } in changes.found {
        if manner == Manner::Assigned && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The variables from outside that a closure changes.
pub fn changes_of_closure(closure: &syn::ExprClosure, scopes: &Scopes) -> Vec<Change> {
    let mut changes = Changes::default();
    changes.visit_expr_closure(closure);
    changes.found.retain(|change| match (change.manner, scopes.find(&change.name)) {
        // For a parameter that is an array another error explains how to assign to it.
        (_, None | Some(Declared::ByValue | Declared::ByReference)) => false,
        // A variable declared without `mut` is a plain `&mut`.
        (Manner::Assigned | Manner::Lent, Some(_)) => true,
        (Manner::Collected | Manner::Called, Some(declared)) => declared.is_mutable(),
    });
    changes.found
}

/// The variables from outside that a rolled loop changes, apart from those that it carries.
pub fn changes_of_loop(body: &Block, carried: &[Ident], scopes: &Scopes) -> Vec<Change> {
    let mut changes = Changes::default();
    changes.visit_block(body);
    changes.found.retain(|Change { name, manner }| {
        let in_place = matches!(manner, Manner::Lent | Manner::Collected);
        in_place && !carried.contains(name) && scopes.find(name).is_some_and(Declared::is_mutable)
    });
    changes.found
}

/// Whether a rolled loop among these statements assigns a variable.
pub fn is_rolled_over(name: &Ident, statements: &[syn::Stmt]) -> bool {
    struct Loops<'n> {
        name: &'n Ident,
        found: bool,
    }
    impl<'a> Visit<'a> for Loops<'_> {
        fn visit_expr_for_loop(&mut self, expression: &'a ExprForLoop) {
            if rolled_range(&expression.expr).is_some() {
                self.found |= assigned(&expression.body).contains(self.name);
            }
            visit::visit_expr_for_loop(self, expression);
        }
    }
    let mut loops = Loops { name, found: false };
    for statement in statements {
        loops.visit_stmt(statement);
        // From here on the name is another variable's.
        if let syn::Stmt::Local(local) = statement
            && bindings(&local.pat).iter().any(|(other, _)| other == name)
        {
            break;
        }
    }
    loops.found
}

/// The first place where control leaves a rolled loop's body.
pub fn exit(body: &Block) -> Option<(proc_macro2::Span, &'static str)> {
    #[derive(Default)]
    struct Exits {
        found: Option<(proc_macro2::Span, &'static str)>,
        /// Loops of the body, in which `break` and `continue` stay inside.
        depth: usize,
    }
    impl Exits {
        fn within(&mut self, visit: impl FnOnce(&mut Self)) {
            self.depth += 1;
            visit(self);
            self.depth -= 1;
        }
    }
    impl<'a> Visit<'a> for Exits {
        fn visit_expr(&mut self, expression: &'a Expr) {
            let exit = match expression {
                Expr::Return(found) => Some((found.return_token.span, "return")),
                Expr::Try(found) => Some((found.question_token.span, "?")),
                Expr::Break(found) if self.depth == 0 => Some((found.break_token.span, "break")),
                Expr::Continue(found) if self.depth == 0 => Some((found.continue_token.span, "continue")),
                _ => None,
            };
            self.found = self.found.or(exit);
            match expression {
                // Exits from a closure stay in the loop.
                Expr::Closure(_) => {}
                Expr::ForLoop(_) | Expr::While(_) | Expr::Loop(_) => {
                    self.within(|exits| visit::visit_expr(exits, expression));
                }
                _ => visit::visit_expr(self, expression),
            }
        }
        fn visit_item(&mut self, _: &'a syn::Item) {}
    }
    let mut exits = Exits::default();
    exits.visit_block(body);
    exits.found
}
