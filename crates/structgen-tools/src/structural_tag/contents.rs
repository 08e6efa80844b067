//! Parts with a syntax of their own: JSON, patterns and grammars.

use structgen_frontend::gbnf::{self, GbnfOptions};
use structgen_frontend::json_schema::{self, KeyOrder, PartOptions, SchemaOptions};
use structgen_frontend::regex::{self, RegexOptions};
use structgen_grammar::{Expr, ExprId, Grammar, JsonForm, Whitespace};

use super::StructuralTagError;
use super::lower::Lowering;
use super::node::Node;

type Result<T> = std::result::Result<T, StructuralTagError>;

pub(super) const XML: &str =
    "arguments as XML are written by formats of tools: give them as `tools`";

impl Lowering<'_> {
    pub(super) fn json_schema(&mut self, node: &Node<'_>) -> Result<ExprId> {
        let fields = node.fields(&[
            "type",
            "json_schema",
            "style",
            "any_order",
            "max_whitespace_cnt",
            "excludes",
        ])?;
        if let Some(style) = fields.optional("style")
            && style.text()? != "json"
        {
            return Err(style.unsupported(XML));
        }
        if let Some(excludes) = fields.optional("excludes")
            && !excludes.texts()?.is_empty()
        {
            return Err(excludes.unsupported(
                "texts cannot be excluded from all strings of a schema; a `pattern` of the schema can exclude them",
            ));
        }
        let mut options = self.options.clone();
        if fields.flag("any_order")? {
            options = options.with_order(KeyOrder::Any);
        }
        if let Some(node) = fields.optional("max_whitespace_cnt") {
            let most = node.count()?;
            if most < longest_whitespace(options.form().whitespace) {
                options = options.with_whitespace(match most {
                    0 => Whitespace::Compact,
                    _ => Whitespace::Bounded {
                        max: u16::try_from(most).unwrap_or(u16::MAX),
                    },
                });
            }
        }
        let schema = fields.required("json_schema")?;
        self.schema(schema.schema()?, &schema, &options)
    }

    /// The values of a schema, from its text.
    pub(super) fn schema(
        &mut self,
        schema: &str,
        at: &Node<'_>,
        options: &SchemaOptions,
    ) -> Result<ExprId> {
        let prefix = format!("value-{} ", self.reports.len() + 1);
        let part = PartOptions {
            prefix: &prefix,
            ..PartOptions::default()
        };
        let part = json_schema::compile_part_str(schema, "", options, part, &mut self.builder)
            .map_err(|source| StructuralTagError::Schema {
                pointer: at.pointer.clone(),
                source,
            })?;
        self.take_form(part.form, at)?;
        self.reports.push((at.pointer.clone(), part.report));
        Ok(part.root)
    }

    /// Checks that all JSON of a text has one form.
    fn take_form(&mut self, form: JsonForm, at: &Node<'_>) -> Result<()> {
        if { self.form.as_ref() }.is_some_and(|known| *known != form) {
            return Err(StructuralTagError::Forms {
                pointer: at.pointer.clone(),
            });
        }
        self.form = Some(form);
        Ok(())
    }

    pub(super) fn regex(&mut self, node: &Node<'_>) -> Result<ExprId> {
        let options = RegexOptions::json_schema().with_search(false);
        let set =
            regex::parse(node.text()?, options).map_err(|source| StructuralTagError::Regex {
                pointer: node.pointer.clone(),
                source,
            })?;
        Ok(self.regular(set))
    }

    pub(super) fn grammar(&mut self, node: &Node<'_>) -> Result<ExprId> {
        let options = GbnfOptions {
            schema: self.options.clone(),
            ..GbnfOptions::default()
        };
        let grammar =
            gbnf::parse(node.text()?, &options).map_err(|source| StructuralTagError::Grammar {
                pointer: node.pointer.clone(),
                source: Box::new(source),
            })?;
        if has_json(&grammar) {
            self.take_form(grammar.form().clone(), node)?;
        }
        self.grammars += 1;
        let prefix = format!("grammar-{} ", self.grammars);
        Ok(self.builder.embed(&grammar, &prefix))
    }
}

/// The maximum whitespace in one place.
fn longest_whitespace(whitespace: Whitespace) -> u32 {
    match whitespace {
        Whitespace::Compact => 0,
        Whitespace::Spaced | Whitespace::OneSpace => 1,
        Whitespace::Bounded { max } => max.into(),
        Whitespace::Indented { .. } => u32::MAX,
    }
}

/// Whether a grammar depends on the form of JSON.
fn has_json(grammar: &Grammar) -> bool {
    let is_json = |expr: &Expr| {
        matches!(
            expr,
            Expr::String(_) | Expr::Number(_) | Expr::Object(_) | Expr::Array(_)
        )
    };
    grammar.exprs().iter().any(is_json)
}
