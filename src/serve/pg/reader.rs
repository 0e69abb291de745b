//! Statements as they come: parsed, told apart, planned.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::common::DFSchema;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::logical_expr::{EmptyRelation, LogicalPlan};
use datafusion::prelude::SessionContext;
use datafusion::sql::sqlparser::ast::{CopySource, CopyTarget, Statement};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser as SqlParser;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};
use datafusion_postgres::datafusion_pg_catalog::sql::PostgresCompatibilityParser;
use datafusion_postgres::hooks::set_show::SetShowHook;
use datafusion_postgres::pgwire::api::portal::Format;
use datafusion_postgres::pgwire::api::query::ExtendedQueryHandler as _;
use datafusion_postgres::pgwire::api::results::FieldInfo;
use datafusion_postgres::pgwire::api::stmt::QueryParser;
use datafusion_postgres::pgwire::api::{ClientInfo, Type};
use datafusion_postgres::pgwire::error::PgWireResult;
use datafusion_postgres::{DfSessionService, Parser, QueryHook as _};

use super::error::{code, refused};
use super::handler::Connection;
use super::procedure::by_name;

/// Longer texts of statements are refused.
const LONGEST: usize = 1 << 20;

/// Most words and signs that could each be a level of a statement's tree, since trees are walked by recursion.
const DEEPEST: usize = 10_000;

/// Most round brackets in each other.
const BRACKETS: usize = 40;

/// Most others: the parser tries each level twice, so that the time for them doubles with each.
const SQUARE: usize = 8;

/// A text, its statement, and the plan of it. The shape is the library's.
pub(super) type Read = (String, Option<(Statement, LogicalPlan)>);

/// What a statement is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `SET`, `SHOW`.
    Setting,
    /// `BEGIN`, `COMMIT`, `ROLLBACK`: there is nothing to change, so they only answer.
    Transaction,
    /// `DISCARD ALL`, `RESET ALL`: the next user of the connection begins anew.
    Anew(&'static str),
    /// Ends something that is not kept here.
    Nothing(&'static str),
    /// `COPY ... TO STDOUT`.
    Copy,
    /// It would write where the server stands, or change something: whatever else is wrong with it.
    Refused(&'static str),
    /// `PREPARE`, `LISTEN`, cursors.
    Missing,
    /// Rows, if it only reads.
    Rows,
}

impl Kind {
    pub(super) fn of(statement: &Statement) -> Self {
        match statement {
            Statement::Set(_)
            | Statement::ShowVariable { .. }
            | Statement::ShowStatus { .. }
            | Statement::ShowCatalogs { .. } => Self::Setting,
            Statement::StartTransaction { .. }
            | Statement::Commit { .. }
            | Statement::Rollback { .. } => Self::Transaction,
            Statement::Discard { .. } => Self::Anew("DISCARD ALL"),
            Statement::Reset(_) => Self::Anew("RESET"),
            Statement::Deallocate { .. } => Self::Nothing("DEALLOCATE"),
            Statement::Savepoint { .. } => Self::Nothing("SAVEPOINT"),
            Statement::ReleaseSavepoint { .. } => Self::Nothing("RELEASE"),
            Statement::UNLISTEN { .. } => Self::Nothing("UNLISTEN"),
            Statement::Close { .. } => Self::Nothing("CLOSE CURSOR"),
            Statement::Copy {
                to: true,
                target: CopyTarget::Stdout,
                ..
            } => Self::Copy,
            Statement::Copy { .. } => Self::Refused("COPY: only `COPY ... TO STDOUT`"),
            Statement::Insert(_)
            | Statement::Update { .. }
            | Statement::Delete(_)
            | Statement::Merge { .. }
            | Statement::Truncate { .. }
            | Statement::Drop { .. }
            | Statement::CreateTable(_)
            | Statement::CreateView { .. } => Self::Refused("only reading is allowed here"),
            Statement::Prepare { .. }
            | Statement::Execute { .. }
            | Statement::LISTEN { .. }
            | Statement::Declare { .. }
            | Statement::Fetch { .. } => Self::Missing,
            _ => Self::Rows,
        }
    }
}

/// What `COPY` copies, as a query.
pub(super) fn copied(
    parser: &PostgresCompatibilityParser,
    statement: &Statement,
) -> PgWireResult<Statement> {
    let Statement::Copy { source, .. } = statement else {
        return Ok(statement.clone());
    };
    match source {
        CopySource::Query(query) => Ok(Statement::Query(query.clone())),
        CopySource::Table {
            table_name,
            columns,
        } => {
            let columns: Vec<String> = columns.iter().map(ToString::to_string).collect();
            let columns = if columns.is_empty() {
                "*".to_owned()
            } else {
                columns.join(", ")
            };
            let text = format!("SELECT {columns} FROM {table_name}");
            let mut parsed = parse(parser, &text)?;
            Ok(parsed.swap_remove(0))
        }
    }
}

/// Statements of a text, none for an empty one.
pub(super) fn parse(
    parser: &PostgresCompatibilityParser,
    text: &str,
) -> PgWireResult<Vec<Statement>> {
    if text.len() > LONGEST {
        return Err(refused(
            code::TOO_COSTLY,
            format!(
                "a text of {} bytes; at most {LONGEST} are taken",
                text.len()
            ),
        ));
    }
    let wrong = |error: &dyn std::fmt::Display| refused(code::SYNTAX, error.to_string());
    let tokens = Tokenizer::new(&PostgreSqlDialect {}, text).tokenize();
    let tokens = tokens.map_err(|error| wrong(&error))?;
    if tokens.iter().filter(|token| nests(token)).count() > DEEPEST {
        return Err(refused(
            code::TOO_COSTLY,
            format!(
                "a statement of more than {DEEPEST} words and signs, lists of values not counted"
            ),
        ));
    }
    if !is_shallow(&tokens) {
        return Err(refused(
            code::TOO_COSTLY,
            format!(
                "brackets that stand in each other: at most {BRACKETS} of ( and {SQUARE} of [ or {{"
            ),
        ));
    }
    if !asks_the_catalogue(&tokens) {
        let parsed = SqlParser::parse_sql(&PostgreSqlDialect {}, text);
        return parsed.map_err(|error| wrong(&error));
    }
    let mut statements = parser.parse(text).map_err(|error| wrong(&error))?;
    statements.iter_mut().for_each(by_name);
    Ok(statements)
}

/// Whether a text asks for what PostgreSQL's catalogue holds. Only such texts are rewritten for what is
/// not there, which takes subqueries away that a question of the lake means.
fn asks_the_catalogue(tokens: &[Token]) -> bool {
    const WORDS: [&str; 4] = [
        "information_schema",
        "current_setting",
        "regclass",
        "regtype",
    ];
    tokens.iter().any(|token| match token {
        Token::Word(word) => {
            let word = word.value.to_lowercase();
            word.starts_with("pg_") || WORDS.contains(&word.as_str())
        }
        _ => false,
    })
}

/// Whether brackets do not stand too deep in each other.
fn is_shallow(tokens: &[Token]) -> bool {
    let (mut round, mut square) = (0usize, 0usize);
    tokens.iter().all(|token| {
        match token {
            Token::LParen => round += 1,
            Token::RParen => round = round.saturating_sub(1),
            Token::LBracket | Token::LBrace => square += 1,
            Token::RBracket | Token::RBrace => square = square.saturating_sub(1),
            _ => {}
        }
        round <= BRACKETS && square <= SQUARE
    })
}

/// Whether a token may make a tree deeper: values and what separates them do not.
const fn nests(token: &Token) -> bool {
    !matches!(
        token,
        Token::Whitespace(_)
            | Token::Comma
            | Token::Number(..)
            | Token::SingleQuotedString(_)
            | Token::Placeholder(_)
    )
}

/// Parts that all connections share.
pub(super) struct Grammar {
    pub(super) parser: PostgresCompatibilityParser,
    /// The library's own reader, for the types of parameters and columns.
    types: Arc<Parser>,
    /// A session without tables, for settings that are the client's alone.
    pub(super) bare: SessionContext,
}

impl Grammar {
    pub(super) fn new() -> Self {
        let bare = SessionContext::new_with_state(SessionStateBuilder::new().build());
        let service = DfSessionService::new_with_hooks(Arc::new(bare.clone()), Vec::new());
        Self {
            parser: PostgresCompatibilityParser::new(),
            types: service.query_parser(),
            bare,
        }
    }
}

/// Reads prepared statements for one connection.
pub(super) struct Reader(pub(super) Arc<Connection>);

#[async_trait]
impl QueryParser for Reader {
    type Statement = Read;

    async fn parse_sql<C>(
        &self,
        client: &C,
        sql: &str,
        _types: &[Option<Type>],
    ) -> PgWireResult<Option<Read>>
    where
        C: ClientInfo + Unpin + Send + Sync,
    {
        self.0.check_admitted()?;
        let grammar = self.0.grammar();
        let mut statements = parse(&grammar.parser, sql)?;
        if statements.len() > 1 {
            return Err(refused(
                code::SYNTAX,
                "cannot insert multiple commands into a prepared statement",
            ));
        }
        let Some(statement) = statements.pop() else {
            return Ok(None);
        };
        let plan = match Kind::of(&statement) {
            Kind::Setting => {
                let hook = SetShowHook;
                let plan = hook
                    .handle_extended_parse_query(&statement, &grammar.bare, client)
                    .await;
                plan.unwrap_or_else(|| Ok(nothing()))?
            }
            Kind::Transaction | Kind::Anew(_) | Kind::Nothing(_) => nothing(),
            Kind::Refused(_) | Kind::Missing | Kind::Copy | Kind::Rows => {
                self.0.plan(client, &statement).await?
            }
        };
        Ok(Some((sql.to_owned(), Some((statement, plan)))))
    }

    fn get_parameter_types(&self, read: &Read) -> PgWireResult<Vec<Type>> {
        self.0.grammar().types.get_parameter_types(read)
    }

    fn get_result_schema(
        &self,
        read: &Read,
        format: Option<&Format>,
    ) -> PgWireResult<Vec<FieldInfo>> {
        if let Some((statement, _)) = &read.1
            && Kind::of(statement) == Kind::Copy
        {
            return Ok(Vec::new());
        }
        self.0.grammar().types.get_result_schema(read, format)
    }
}

fn nothing() -> LogicalPlan {
    LogicalPlan::EmptyRelation(EmptyRelation {
        produce_one_row: false,
        schema: Arc::new(DFSchema::empty()),
    })
}
