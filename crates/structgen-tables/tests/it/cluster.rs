//! A scheduler and executors as processes: the same bytes as locally, whatever is killed.

use std::fs;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::support::{Run, Tables, end, ids, run, start};

const CONTACTS: &str =
    "SELECT id, extract(body, 'contact.json', 'confidence').* FROM 'mails.jsonl'";

/// A process that is killed when it is dropped.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // SIGKILL on Unix.
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

struct Executor {
    process: Process,
    work_dir: TempDir,
}

struct Cluster<'t> {
    tables: &'t Tables,
    /// The working folder of the processes, which is not the client's.
    elsewhere: TempDir,
    port: u16,
    scheduler: Option<Process>,
    executors: Vec<Executor>,
}

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap().port()
}

impl<'t> Cluster<'t> {
    fn start(tables: &'t Tables, executors: usize) -> Self {
        let mut cluster = Self {
            tables,
            elsewhere: tempfile::tempdir().unwrap(),
            port: free_port(),
            scheduler: None,
            executors: Vec::new(),
        };
        cluster.start_scheduler();
        for _ in 0..executors {
            cluster.start_executor();
        }
        cluster
    }

    fn start_process(&self, name: &str, args: &[&str]) -> Process {
        let mut command = self.tables.command(["cluster", name]);
        let log = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.elsewhere.path().join(name))
            .unwrap();
        command.args(args).current_dir(self.elsewhere.path());
        Process(command.stdout(Stdio::null()).stderr(log).spawn().unwrap())
    }

    fn start_scheduler(&mut self) {
        let port = self.port.to_string();
        let args = ["--port", &port, "--executor-timeout", "4"];
        self.scheduler = Some(self.start_process("scheduler", &args));
        let start = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_err() {
            assert!(start.elapsed() < Duration::from_secs(60), "{}", self.logs());
            thread::sleep(Duration::from_millis(50));
        }
    }

    fn start_executor(&mut self) {
        let scheduler = format!("127.0.0.1:{}", self.port);
        let (port, task_port) = (free_port().to_string(), free_port().to_string());
        let work_dir = tempfile::tempdir().unwrap();
        let args = [
            "--scheduler",
            &scheduler,
            "--port",
            &port,
            "--task-port",
            &task_port,
            "--heartbeat",
            "1",
            "--workers",
            "1",
            "--work-dir",
            work_dir.path().to_str().unwrap(),
        ];
        self.executors.push(Executor {
            process: self.start_process("executor", &args),
            work_dir,
        });
    }

    fn args<'a>(&self, query: &'a str, more: &[&'a str]) -> Vec<String> {
        let url = format!("http://127.0.0.1:{}", self.port);
        let args = ["sql", query, "--cluster", &url];
        args.iter().chain(more).map(|&it| it.to_owned()).collect()
    }

    fn sql(&self, query: &str, more: &[&str]) -> Run {
        run(&mut self.tables.command(self.args(query, more)))
    }

    fn logs(&self) -> String {
        let read = |name| fs::read_to_string(self.elsewhere.path().join(name)).unwrap_or_default();
        format!(
            "scheduler:\n{}\nexecutors:\n{}",
            read("scheduler"),
            read("executor")
        )
    }

    /// Waits until an executor has written rows.
    fn wait_for_rows(&self, executor: usize) {
        let start = Instant::now();
        while !has_rows(self.executors[executor].work_dir.path()) {
            assert!(
                start.elapsed() < Duration::from_secs(120),
                "{}",
                self.logs()
            );
            thread::sleep(Duration::from_millis(20));
        }
    }
}

fn has_rows(folder: &Path) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths = entries.map(|entry| entry.path());
    paths.any(|path: PathBuf| match path.is_dir() {
        true => has_rows(&path),
        false => fs::metadata(&path).is_ok_and(|file| file.len() > 0),
    })
}

#[test]
fn a_cluster_has_the_bytes_of_one_process() {
    let tables = Tables::new().with_mails(12);
    for part in 0..3 {
        let rows = (0..5).map(|row| format!("{part}{row},\"Ada\nfrom Graz, {row}\"\n"));
        tables.write(
            &format!("part-{part}.csv"),
            format!("id,body\n{}", rows.collect::<String>()),
        );
    }
    let parquet = tables.run([
        "sql",
        "SELECT * FROM 'mails.jsonl'",
        "--output",
        "mails.parquet",
    ]);
    assert_eq!(parquet.code, Some(0), "{parquet:?}");
    let cluster = Cluster::start(&tables, 3);
    for (query, more) in [
        (CONTACTS, &[][..]),
        (
            "SELECT id, generate(body, '{\"type\": \"string\", \"maxLength\": 8}') AS g, classify(body, 'a', 'b') AS c \
             FROM 'mails.parquet'",
            &["--temperature", "1.5", "--seed", "7"],
        ),
        (
            "SELECT id, body, matches(body, 'contact.json') AS m, array_length(tokens(body)) AS n FROM 'part-*.csv'",
            &[],
        ),
        ("SELECT id, body FROM 'part-*.csv'", &["--format", "csv"]),
        (
            "SELECT \"from\", matches(body, 'c') FROM 'mails.jsonl'",
            &["--schema", "c=contact.json"],
        ),
        (
            "SELECT n % 3 AS r, count(*), avg(n) FROM (SELECT array_length(tokens(body)) AS n FROM 'mails.jsonl') \
             GROUP BY 1 ORDER BY 1",
            &[],
        ),
        (
            "SELECT a.id, b.body FROM 'mails.jsonl' a JOIN 'mails.parquet' b ON a.id = b.id \
             WHERE b.id IN (SELECT max(id) - 2 FROM 'mails.jsonl') OR a.id < 3 ORDER BY a.id DESC LIMIT 3",
            &[],
        ),
        (
            "SELECT id FROM 'mails.jsonl' WHERE id NOT IN (SELECT id FROM 'mails.parquet' WHERE id > 4) ORDER BY id",
            &[],
        ),
        ("SELECT 1 AS one", &[]),
        ("SELECT 1 AS n UNION ALL SELECT 2.5 ORDER BY n", &[]),
        ("SELECT id FROM 'mails.jsonl' WHERE id < 0", &[]),
    ] {
        let here = tables.run(["sql", query].iter().chain(more));
        assert_eq!(here.code, Some(0), "{query}: {here:?}");
        let there = cluster.sql(query, more);
        assert_eq!(
            there.code,
            Some(0),
            "{query}: {there:?}\n{}",
            cluster.logs()
        );
        assert_eq!(there.out, here.out, "{query}");
    }
}

#[test]
fn what_a_cluster_cannot_do_is_named() {
    let tables = Tables::new().with_mails(3);
    let cluster = Cluster::start(&tables, 1);
    let tokens = "SELECT tokens(body) FROM 'mails.jsonl'";
    let copy = "COPY (SELECT 1) TO 'one.csv'";
    for (query, more, expected) in [
        (
            tokens,
            &["--model-hash", "0123456789abcdef"][..],
            "the query is for the model 0123456789abcdef, and the model here is",
        ),
        // A call on literals is not evaluated with the client's own model either.
        (
            "SELECT tokens('a')",
            &["--model-hash", "0123456789abcdef"],
            "the query is for the model 0123456789abcdef, and the model here is",
        ),
        (copy, &[], "a cluster runs queries only"),
        (
            "SELECT extract(body, 'none.json') FROM 'mails.jsonl'",
            &[],
            "none.json",
        ),
        (tokens, &["--workers", "2"], "cannot be used with"),
    ] {
        let outcome = cluster.sql(query, more);
        assert_eq!(outcome.code, Some(2), "{query}: {outcome:?}");
        assert!(outcome.err.contains(expected), "{query}: {outcome:?}");
        assert_eq!(outcome.out, "", "{query}");
    }
    let url = format!("http://127.0.0.1:{}", free_port());
    let nobody = tables.run(["sql", tokens, "--cluster", &url]);
    assert_eq!(nobody.code, Some(2), "{nobody:?}");
    assert!(nobody.err.contains("no scheduler answers"), "{nobody:?}");
}

#[test]
fn an_executor_that_is_killed_loses_and_doubles_no_row() {
    let tables = Tables::new().with_mails(48);
    let here = tables.run(["sql", CONTACTS]);
    assert_eq!(here.code, Some(0), "{here:?}");
    let mut cluster = Cluster::start(&tables, 3);
    for _ in 0..3 {
        let query = start(&mut tables.command(cluster.args(CONTACTS, &[])));
        cluster.wait_for_rows(0);
        // It has finished partitions, whose rows are lost with it.
        drop(cluster.executors.remove(0));
        cluster.start_executor();
        let there = end(query);
        assert_eq!(there.code, Some(0), "{there:?}\n{}", cluster.logs());
        assert_eq!(ids(&there.out), (0..48).collect::<Vec<_>>());
        assert_eq!(there.out, here.out);
        // The next one to be killed must only have rows of the next query.
        for executor in &cluster.executors {
            clear(executor.work_dir.path());
        }
    }
}

/// Removes all results in a folder.
fn clear(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        for job in fs::read_dir(entry.path()).unwrap().flatten() {
            drop(fs::remove_dir_all(job.path()));
        }
    }
}

#[test]
#[cfg(unix)]
fn an_executor_that_stalls_doubles_no_row() {
    let tables = Tables::new().with_mails(48);
    let here = tables.run(["sql", CONTACTS]);
    let cluster = Cluster::start(&tables, 2);
    let signal = |signal: &str| {
        let process = cluster.executors[0].process.0.id().to_string();
        let sent = std::process::Command::new("kill")
            .args([signal, &process])
            .status();
        assert!(sent.unwrap().success());
    };
    let query = start(&mut tables.command(cluster.args(CONTACTS, &[])));
    cluster.wait_for_rows(0);
    signal("-STOP");
    // Its rows are computed again, and still exist where they were.
    thread::sleep(Duration::from_secs(8));
    signal("-CONT");
    let there = end(query);
    assert_eq!(there.code, Some(0), "{there:?}\n{}", cluster.logs());
    assert_eq!(there.out, here.out);
}

#[test]
fn a_scheduler_that_is_killed_ends_its_queries() {
    let tables = Tables::new().with_mails(48);
    let here = tables.run(["sql", CONTACTS]);
    let mut cluster = Cluster::start(&tables, 2);
    let to_file = ["--output", "found.jsonl"];
    let query = start(&mut tables.command(cluster.args(CONTACTS, &to_file)));
    cluster.wait_for_rows(0);
    cluster.scheduler = None;
    cluster.start_scheduler();
    let outcome = end(query);
    assert_eq!(outcome.code, Some(2), "{outcome:?}\n{}", cluster.logs());
    let expected = "does not know the query any more";
    assert!(outcome.err.contains(expected), "{outcome:?}");
    assert!(!tables.path().join("found.jsonl").exists());
    // Executors reconnect to the scheduler.
    let again = cluster.sql(CONTACTS, &to_file);
    assert_eq!(again.code, Some(0), "{again:?}\n{}", cluster.logs());
    assert_eq!(tables.read("found.jsonl"), here.out);
}
