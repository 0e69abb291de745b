//! One connection: what it may ask, and how it is answered.

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arrow::datatypes::DataType;
use async_trait::async_trait;
use datafusion::common::ParamValues;
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::sqlparser::ast::Statement;
use datafusion_postgres::QueryHook as _;
use datafusion_postgres::arrow_pg::datatypes::df::deserialize_parameters_with_server_types;
use datafusion_postgres::arrow_pg::datatypes::{arrow_schema_to_pg_fields, encode_recordbatch};
use datafusion_postgres::hooks::HookClient;
use datafusion_postgres::hooks::set_show::SetShowHook;
use datafusion_postgres::hooks::transactions::TransactionStatementHook;
use datafusion_postgres::pgwire::api::portal::{Format, Portal};
use datafusion_postgres::pgwire::api::query::{ExtendedQueryHandler, SimpleQueryHandler};
use datafusion_postgres::pgwire::api::results::{FieldInfo, QueryResponse, Response, Tag};
use datafusion_postgres::pgwire::api::stmt::QueryParser as _;
use datafusion_postgres::pgwire::api::store::PortalStore;
use datafusion_postgres::pgwire::api::{ClientInfo, ClientPortalStore, Type};
use datafusion_postgres::pgwire::error::{PgWireError, PgWireResult};
use datafusion_postgres::pgwire::messages::PgWireBackendMessage;
use datafusion_postgres::pgwire::types::format::FormatOptions;
use futures::{Sink, StreamExt as _, stream};
use tokio::sync::watch;
use tokio::time::Instant;

use super::cancel::Place;
use super::copy::{Written, response};
use super::error::{code, fatal, of_query, refused};
use super::listen::House;
use super::plan::plan;
use super::reader::{Grammar, Kind, Read, Reader, copied, parse};
use super::run::{Means, plan_aside, run};
use super::session::Session;
use super::setting;

/// What one client has of the server.
pub(super) struct Connection {
    house: Arc<House>,
    pub(super) session: Session,
    cancel: watch::Sender<u64>,
    place: Mutex<Option<Place>>,
    admitted: AtomicBool,
}

impl Connection {
    pub(super) fn new(house: Arc<House>) -> Self {
        let session = Session::new(Arc::clone(&house.shelf));
        Self {
            house,
            session,
            cancel: watch::Sender::new(0),
            place: Mutex::new(None),
            admitted: AtomicBool::new(false),
        }
    }

    /// The client has shown who it is.
    pub(super) fn admit(&self, client: &impl ClientInfo) {
        let place = self.house.cancels.enter(client, self.cancel.clone());
        *self.place.lock().unwrap_or_else(PoisonError::into_inner) = Some(place);
        self.admitted.store(true, Ordering::Release);
    }

    pub(super) fn is_admitted(&self) -> bool {
        self.admitted.load(Ordering::Acquire)
    }

    /// The library lets queries through after some errors of the login.
    pub(super) fn check_admitted(&self) -> PgWireResult<()> {
        match self.is_admitted() {
            true => Ok(()),
            false => Err(fatal(code::NOT_ADMITTED, "log in first")),
        }
    }

    pub(super) fn grammar(&self) -> &Arc<Grammar> {
        &self.house.grammar
    }

    /// A question of this client, asked now.
    fn means<C: ClientInfo + ?Sized>(&self, client: &C) -> Means {
        let most = self.house.limits.timeout;
        let timeout = setting::own_timeout(client).map_or(most, |own| most.min(own));
        Means {
            limits: Arc::clone(&self.house.limits),
            places: Arc::clone(&self.house.places),
            cancelled: self.cancel.subscribe(),
            deadline: Instant::now() + timeout,
        }
    }

    /// Plans a statement that reads.
    pub(super) async fn plan<C>(
        &self,
        client: &C,
        statement: &Statement,
    ) -> PgWireResult<LogicalPlan>
    where
        C: ClientInfo + ?Sized,
    {
        let engine = self.session.engine().await?;
        let statement = match Kind::of(statement) {
            Kind::Copy => copied(&self.grammar().parser, statement)?,
            Kind::Refused(why) => return Err(refused(code::READ_ONLY, why)),
            Kind::Missing => {
                let why = format!("{statement}: this server has no such statements");
                return Err(refused(code::UNSUPPORTED, why));
            }
            _ => statement.clone(),
        };
        let means = self.means(client);
        plan_aside(&means, async move { plan(&engine, &statement).await }).await
    }

    /// Statements that ask nothing of the lake.
    async fn aside(
        &self,
        client: &mut dyn HookClient,
        statement: &Statement,
    ) -> Option<PgWireResult<Response>> {
        let bare = &self.house.grammar.bare;
        // Answers transactions, and refuses everything else in one that has failed.
        let answer = TransactionStatementHook.handle_simple_query(statement, bare, client);
        if let Some(answer) = answer.await {
            return Some(answer);
        }
        match Kind::of(statement) {
            Kind::Setting => {
                if let Some(answer) = setting::own(&self.session, client, statement).await {
                    return Some(answer);
                }
                SetShowHook
                    .handle_simple_query(statement, bare, client)
                    .await
            }
            Kind::Anew(tag) => {
                let begun = self.session.pin("newest").await;
                let begun = begun.and_then(|()| setting::keep_timeout(client, "default"));
                Some(begun.map(|()| Response::Execution(Tag::new(tag))))
            }
            Kind::Nothing(tag) => Some(Ok(Response::Execution(Tag::new(tag)))),
            Kind::Transaction | Kind::Refused(_) | Kind::Missing | Kind::Copy | Kind::Rows => None,
        }
    }

    /// Statements that read the lake, as soon as their rows are asked for.
    async fn rows<C>(
        &self,
        client: &C,
        statement: &Statement,
        plan: LogicalPlan,
        format: &Format,
    ) -> PgWireResult<Response>
    where
        C: ClientInfo + ?Sized,
    {
        let engine = self.session.engine().await?;
        let options = Arc::new(FormatOptions::from_client_metadata(client.metadata()));
        let means = self.means(client);
        let written = match Kind::of(statement) {
            Kind::Copy => Some(Written::of(statement)?),
            _ => None,
        };
        let format = written.map_or_else(|| format.clone(), Written::values);
        let fields = arrow_schema_to_pg_fields(plan.schema().as_arrow(), &format, Some(options))?;
        let fields: Arc<Vec<FieldInfo>> = Arc::new(fields);
        let batches = run(engine, plan, means);
        if let Some(written) = written {
            return Ok(Response::CopyOut(response(written, fields, batches)));
        }
        let of_rows = Arc::clone(&fields);
        let rows = batches.flat_map(move |batch| match batch {
            Ok(batch) => {
                stream::iter(encode_recordbatch(Arc::clone(&of_rows), batch)).left_stream()
            }
            Err(error) => stream::iter([Err(error)]).right_stream(),
        });
        Ok(Response::Query(QueryResponse::new(fields, rows)))
    }

    /// The parameters of a prepared statement, as the plan wants them.
    fn parameters(
        self: &Arc<Self>,
        portal: &Portal<Read>,
        plan: &LogicalPlan,
    ) -> PgWireResult<ParamValues> {
        let told = Reader(Arc::clone(self)).get_parameter_types(&portal.statement.statement)?;
        let told: Vec<Option<&Type>> = told.iter().map(Some).collect();
        let wanted = plan
            .get_parameter_types()
            .map_err(|error| of_query(&error))?;
        let wanted = in_order(wanted);
        let wanted: Vec<Option<&DataType>> = wanted.iter().map(Option::as_ref).collect();
        deserialize_parameters_with_server_types(portal, &wanted, &told)
    }
}

/// `$1`, `$2`, ... in the order of their numbers.
fn in_order(types: HashMap<String, Option<DataType>>) -> Vec<Option<DataType>> {
    let mut all: Vec<(u32, Option<DataType>)> = types
        .into_iter()
        .map(|(name, wanted)| {
            let number = name.trim_start_matches('$').parse();
            (number.unwrap_or(u32::MAX), wanted)
        })
        .collect();
    all.sort_by_key(|(number, _)| *number);
    all.into_iter().map(|(_, wanted)| wanted).collect()
}

/// The two ways of asking.
pub(super) struct Handler(pub(super) Arc<Connection>);

#[async_trait]
impl SimpleQueryHandler for Handler {
    async fn do_query<C>(&self, client: &mut C, text: &str) -> PgWireResult<Vec<Response>>
    where
        C: ClientInfo + ClientPortalStore + Sink<PgWireBackendMessage> + Unpin + Send + Sync,
        C::PortalStore: PortalStore,
        C::Error: Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        self.0.check_admitted()?;
        let statements = parse(&self.0.grammar().parser, text)?;
        if statements.is_empty() {
            return Ok(vec![Response::EmptyQuery]);
        }
        let mut answers = Vec::with_capacity(statements.len());
        for statement in statements {
            let answer = match self.0.aside(client, &statement).await {
                Some(answer) => answer?,
                None => {
                    let plan = self.0.plan(client, &statement).await?;
                    let format = Format::UnifiedText;
                    self.0.rows(client, &statement, plan, &format).await?
                }
            };
            answers.push(answer);
        }
        Ok(answers)
    }
}

#[async_trait]
impl ExtendedQueryHandler for Handler {
    type Statement = Read;
    type QueryParser = Reader;

    fn query_parser(&self) -> Arc<Reader> {
        Arc::new(Reader(Arc::clone(&self.0)))
    }

    async fn do_query<C>(
        &self,
        client: &mut C,
        portal: &Portal<Read>,
        _most_rows: usize,
    ) -> PgWireResult<Response>
    where
        C: ClientInfo + ClientPortalStore + Sink<PgWireBackendMessage> + Unpin + Send + Sync,
        C::PortalStore: PortalStore,
        C::Error: Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        self.0.check_admitted()?;
        let Some((statement, planned)) = &portal.statement.statement.1 else {
            return Ok(Response::EmptyQuery);
        };
        if let Some(answer) = self.0.aside(client, statement).await {
            return answer;
        }
        let plan = match self.0.session.has_moved() {
            // It may have been prepared over another state of the lake.
            true => self.0.plan(client, statement).await?,
            false => planned.clone(),
        };
        let parameters = self.0.parameters(portal, &plan)?;
        let plan = plan.replace_params_with_values(&parameters);
        let plan = plan.map_err(|error| of_query(&error))?;
        let format = &portal.result_column_format;
        self.0.rows(client, statement, plan, format).await
    }
}
