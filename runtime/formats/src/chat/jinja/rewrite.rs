//! Statements, as they are but for their expressions.

use super::SyntaxError;
use super::expression::quoted;
use super::lexer::{Kind, tokens};
use super::parser::Parser;

/// The template in the form that minijinja gets: whitespace is trimmed already, and expressions are calls.
pub(in crate::chat) fn rewrite(source: &str) -> Result<String, SyntaxError> {
    let tokens = tokens(source)?;
    let mut writer = Writer { out: String::with_capacity(source.len() * 2), line: 1, open: Vec::new(), watched: 0 };
    let mut parser = Parser::new(&tokens);
    while let Some(token) = parser.next() {
        match &token.kind {
            Kind::Data(text) => writer.data(text),
            Kind::VariableBegin => {
                let value = parser.tuple(true, &[])?;
                parser.expect_end(&Kind::VariableEnd)?;
                writer.tag(token.line, "{{", &value, "}}");
            }
            _ => statement(&mut parser, &mut writer, token.line)?,
        }
    }
    Ok(writer.out)
}

struct Writer {
    out: String,
    line: usize,
    /// The `if` and `for` around, innermost last; a loop that is watched with the number of its watch.
    open: Vec<Option<usize>>,
    watched: usize,
}

impl Writer {
    fn data(&mut self, text: &str) {
        if text.ends_with('{') || ["{{", "{%", "{#"].iter().any(|opening| text.contains(opening)) {
            self.tag(0, "{{", &quoted(text), "}}");
        } else {
            self.push(text);
        }
    }

    /// A tag in the line where it was: what trimming took is made up for within it.
    fn tag(&mut self, line: usize, begin: &str, inside: &str, end: &str) {
        self.push(begin);
        self.push(&"\n".repeat(line.saturating_sub(self.line)));
        self.push(" ");
        self.push(inside);
        self.push(" ");
        self.push(end);
    }

    /// Jinja2 takes the `else` of a loop unless the body was left at its end once, so also after nothing but `break` and `continue`;
    /// minijinja takes it after no iteration. What tells is a namespace that the end of the body sets.
    fn watch(&mut self, line: usize) -> usize {
        self.watched += 1;
        let number = self.watched;
        self.tag(line, "{%", &format!("set __watch{number} = namespace(__dict(\"ended\", false))"), "%}");
        number
    }

    fn watched_else(&mut self, line: usize, number: usize) {
        self.tag(line, "{%", &format!("set __watch{number}.ended = true"), "%}");
        for inside in ["endfor", &format!("if not __attr(__watch{number}, \"ended\")"), "with"] {
            self.tag(line, "{%", inside, "%}");
        }
    }

    fn push(&mut self, text: &str) {
        self.line += text.matches('\n').count();
        self.out.push_str(text);
    }
}

fn statement(parser: &mut Parser, writer: &mut Writer, line: usize) -> Result<(), SyntaxError> {
    let name = parser.expect_name()?;
    let inside = match name.as_str() {
        "if" | "elif" => {
            if name == "if" {
                writer.open.push(None);
            }
            format!("{name} {}", parser.tuple(false, &[])?)
        }
        "else" => {
            if let Some(Some(number)) = writer.open.last().copied() {
                parser.skip_operator(":");
                parser.expect_end(&Kind::BlockEnd)?;
                writer.watched_else(line, number);
                return Ok(());
            }
            name
        }
        "endif" => {
            writer.open.pop();
            name
        }
        "endfor" => {
            if writer.open.pop().flatten().is_some() {
                writer.tag(line, "{%", "endwith", "%}");
                "endif".to_owned()
            } else {
                name
            }
        }
        "for" => {
            let target = parser.target(&["in"], false)?;
            parser.expect_keyword("in")?;
            let mut inside = format!("for {target} in __iter({})", parser.tuple(false, &["recursive"])?);
            if parser.skip_keyword("if") {
                inside = format!("{inside} if {}", parser.expression()?);
            }
            let recursive = parser.skip_keyword("recursive");
            // The turns of a recursive loop would share one watch.
            let is_watched = !recursive && parser.is_left_early();
            let watch = is_watched.then(|| writer.watch(line));
            writer.open.push(watch);
            if recursive {
                inside.push_str(" recursive");
            }
            inside
        }
        "set" => {
            let target = parser.target(&[], true)?;
            if parser.skip_operator("=") {
                let value = parser.tuple(true, &[])?;
                // Only a namespace has attributes that can be set.
                let value = if target.contains(',') { format!("__iter({value})") } else { value };
                let value = if target.contains('.') { format!("__held({value})") } else { value };
                format!("set {target} = {value}")
            } else {
                format!("set {target}{}", parser.filters()?)
            }
        }
        "with" => {
            let mut pairs = Vec::new();
            while !parser.at_end() {
                if !pairs.is_empty() {
                    parser.expect_operator(",")?;
                }
                let target = parser.target(&[], false)?;
                parser.expect_operator("=")?;
                pairs.push(format!("{target} = {}", parser.expression()?));
            }
            format!("with {}", pairs.join(", "))
        }
        "macro" => {
            let name = parser.expect_name()?;
            format!("macro {name}{}", parser.signature()?)
        }
        "call" => {
            let signature = if parser.is_operator("(") { parser.signature()? } else { String::new() };
            format!("call{signature} {}", parser.expression()?)
        }
        "filter" => format!("filter {}|__text", parser.filter_chain()?),
        "block" => {
            let name = parser.expect_name()?;
            let scoped = if parser.skip_keyword("scoped") { " scoped" } else { "" };
            format!("block {name}{scoped}")
        }
        "endblock" => {
            parser.skip_name();
            name
        }
        "autoescape" => format!("autoescape {}", parser.expression()?),
        "print" => {
            let value = parser.tuple(true, &[])?;
            parser.expect_end(&Kind::BlockEnd)?;
            writer.tag(line, "{{", &value, "}}");
            return Ok(());
        }
        // There is nothing to load from, which only matters where the statement is reached.
        "include" | "import" | "from" | "extends" => {
            parser.skip_tag();
            parser.expect_end(&Kind::BlockEnd)?;
            writer.tag(line, "{{", &format!("__load({})", quoted(&name)), "}}");
            return Ok(());
        }
        // They mark the assistant's tokens for training, and have a scope of their own.
        "generation" => "with".to_owned(),
        "endgeneration" => "endwith".to_owned(),
        "endset" | "endwith" | "endmacro" | "endcall" | "endfilter" | "endautoescape" | "break" | "continue" => name,
        other => return Err(SyntaxError { message: format!("unknown tag `{other}`"), line }),
    };
    parser.skip_operator(":");
    parser.expect_end(&Kind::BlockEnd)?;
    writer.tag(line, "{%", &inside, "%}");
    Ok(())
}
