//! Expands `.*` after a call of `extract`: `SELECT id, extract(body, 'invoice.json').* FROM mails`.

use std::ops::ControlFlow;

use datafusion::common::plan_err;
use datafusion::error::{DataFusionError, Result};
use datafusion::sql::parser::{CopyToSource, DFParserBuilder, Statement};
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident,
    ObjectName, Select, SelectItem, Value, VisitMut, VisitorMut,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer, Word};

use crate::{Functions, RowType};

/// The alias that stands for `.*` between tokenizing and the syntax tree, since DataFusion's dialect has no such
/// expression.
const STAR: &str = "*";

impl Functions {
    /// Parses an SQL statement, for
    /// [`SessionState::statement_to_plan`](datafusion::execution::SessionState::statement_to_plan).
    ///
    /// It differs from [`SessionContext::sql`](datafusion::prelude::SessionContext::sql) in two ways. `extract(` is
    /// this crate's function, unless it is the standard's `EXTRACT(part FROM date)`; otherwise one would have to quote
    /// the name. And in a list of columns, a call of `extract` or `classify` may be followed by `.*`, for all fields of
    /// the struct under their names.
    ///
    /// # Errors
    /// If the SQL is invalid, or the schema of a call that is followed by `.*`.
    pub fn statement(&self, sql: &str) -> Result<Statement> {
        let dialect = GenericDialect {};
        let tokens = Tokenizer::new(&dialect, sql).tokenize_with_location();
        let mut tokens =
            tokens.map_err(|error| DataFusionError::SQL(Box::new(error.into()), None))?;
        free_extract(&mut tokens);
        name_stars(&mut tokens);
        let parser = DFParserBuilder::new(tokens).with_dialect(&dialect);
        let mut statements = parser.build()?.parse_statements()?;
        let statement = statements.pop_front();
        let (Some(mut statement), true) = (statement, statements.is_empty()) else {
            return plan_err!("one statement is expected");
        };
        self.expand(&mut statement)?;
        Ok(statement)
    }

    fn expand(&self, statement: &mut Statement) -> Result<()> {
        let mut expansion = Expansion { functions: self };
        let flow = match statement {
            Statement::Statement(statement) => statement.visit(&mut expansion),
            Statement::Explain(explain) => return self.expand(&mut explain.statement),
            Statement::CopyTo(copy) => match &mut copy.source {
                CopyToSource::Query(query) => query.visit(&mut expansion),
                CopyToSource::Relation(_) => ControlFlow::Continue(()),
            },
            _ => ControlFlow::Continue(()),
        };
        match flow {
            ControlFlow::Break(error) => Err(error),
            ControlFlow::Continue(()) => Ok(()),
        }
    }
}

/// Turns `extract` into an ordinary name if there is no `FROM` among its arguments.
fn free_extract(tokens: &mut [TokenWithSpan]) {
    for at in 0..tokens.len() {
        let (before, after) = tokens.split_at_mut(at + 1);
        if let Token::Word(word) = &mut before[at].token
            && word.keyword == Keyword::EXTRACT
            && !has_from(after)
        {
            word.keyword = Keyword::NoKeyword;
        }
    }
}

/// Replaces `call(…).*` by `call(…) AS "*"`.
fn name_stars(tokens: &mut [TokenWithSpan]) {
    let is_space = |token: &TokenWithSpan| matches!(token.token, Token::Whitespace(_));
    let places: Vec<usize> = (0..tokens.len())
        .filter(|&at| !is_space(&tokens[at]))
        .collect();
    for place in places.windows(3) {
        let [end, period, star] = [place[0], place[1], place[2]];
        let is_star = tokens[end].token == Token::RParen
            && tokens[period].token == Token::Period
            && tokens[star].token == Token::Mul;
        if is_star {
            tokens[period].token = Token::make_keyword("AS");
            tokens[star].token = Token::Word(Word {
                value: STAR.to_owned(),
                quote_style: Some('"'),
                keyword: Keyword::NoKeyword,
            });
        }
    }
}

/// Returns whether there is a `FROM` directly between these parentheses.
fn has_from(tokens: &[TokenWithSpan]) -> bool {
    let mut depth = 0_usize;
    for token in tokens {
        match &token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            Token::Word(word) if depth == 1 && word.keyword == Keyword::FROM => return true,
            Token::Whitespace(_) => continue,
            _ => {}
        }
        if depth == 0 {
            return false;
        }
    }
    false
}

struct Expansion<'f> {
    functions: &'f Functions,
}

impl VisitorMut for Expansion<'_> {
    type Break = DataFusionError;

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Self::Break> {
        let mut projection = Vec::with_capacity(select.projection.len());
        for item in select.projection.drain(..) {
            match item {
                SelectItem::ExprWithAlias { expr, alias } if alias.value == STAR => {
                    match self.columns(&expr) {
                        Ok(columns) => projection.extend(columns),
                        Err(error) => return ControlFlow::Break(error),
                    }
                }
                other => projection.push(other),
            }
        }
        select.projection = projection;
        ControlFlow::Continue(())
    }
}

impl Expansion<'_> {
    /// Returns the fields of a call's struct, each as a column with its name.
    fn columns(&self, call: &Expr) -> Result<Vec<SelectItem>> {
        let Expr::Function(function) = call else {
            return plan_err!(".* can follow a table's name, and a call of extract or classify");
        };
        let name = function.name.to_string();
        let literals = literals(function);
        let literals: Vec<&str> = literals
            .iter()
            .skip(1)
            .flatten()
            .map(String::as_str)
            .collect();
        let fields = match self.functions.row_type(&name.to_lowercase(), &literals)? {
            Some(RowType::Struct(fields)) => fields,
            Some(_) => {
                return plan_err!("the values of {call} are no structs: there is nothing for .*");
            }
            None => {
                return plan_err!(
                    ".* can follow a table's name, and a call of extract or classify"
                );
            }
        };
        let columns = fields
            .into_iter()
            .map(|(field, _)| SelectItem::ExprWithAlias {
                expr: get_field(function, call, &field),
                alias: Ident::with_quote('"', field),
            });
        Ok(columns.collect())
    }
}

/// Returns the arguments that are text literals, and `None` for the others.
fn literals(function: &Function) -> Vec<Option<String>> {
    let FunctionArguments::List(list) = &function.args else {
        return Vec::new();
    };
    let texts = list.args.iter().map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value))) => match &value.value {
            Value::SingleQuotedString(text) => Some(text.clone()),
            _ => None,
        },
        _ => None,
    });
    texts.collect()
}

fn get_field(function: &Function, call: &Expr, field: &str) -> Expr {
    let argument = |it: Expr| FunctionArg::Unnamed(FunctionArgExpr::Expr(it));
    let name = Value::SingleQuotedString(field.to_owned());
    let mut found = function.clone();
    found.name = ObjectName::from(vec![Ident::new("get_field")]);
    found.args = FunctionArguments::List(FunctionArgumentList {
        duplicate_treatment: None,
        args: vec![argument(call.clone()), argument(Expr::Value(name.into()))],
        clauses: Vec::new(),
    });
    Expr::Function(found)
}
