//! Compares derivatives with the dense automata of `regex-automata` on the patterns of schemas.
//!
//! ```text
//! cargo bench -p structgen-automata --bench pattern_engines -- TOKENIZER.json SCHEMAS…
//! ```
//!
//! Each folder of `SCHEMAS` has JSON files; every string under a key `pattern`, and every key under
//! `patternProperties`, is a pattern. Both engines are machines under the same [`Terminal`], so the comparison is of
//! building a machine, stepping it for the first time, and its memory; the dense automaton is also walked without a
//! terminal. Masks are computed by a plain walk over the token trie, along the tokens of one text for each pattern, and
//! must be equal.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark prints what it found"
)]

use std::collections::BTreeSet;
use std::collections::VecDeque;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use regex_automata::dfa::{Automaton, StartKind, dense};
use regex_automata::nfa::thompson;
use regex_automata::util::primitives::StateID;
use regex_automata::util::start;
use regex_automata::{Anchored, MatchKind};
use regex_syntax::hir::{Class, ClassBytes, ClassBytesRange, ClassUnicode, ClassUnicodeRange};
use regex_syntax::hir::{Hir, Look, Repetition};
use rustc_hash::FxHashMap;
use serde_json::Value;
use structgen_automata::{DEAD, LimitExceeded, Machine, START, StepError, Terminal, TerminalState};
use structgen_constraint::{CompiledConstraint, ConstraintOptions, Matcher, VocabularyTables};
use structgen_frontend::regex::{RegexOptions, parse};
use structgen_grammar::{Expr, GrammarBuilder, JsonForm, Regular};
use structgen_regular::{RegularLimits, RegularMachine};
use structgen_vocab::{TokenId, TokenMask, TokenTrie, Vocabulary};

/// The maximum memory of one dense automaton and of building it; patterns that take more count as refused.
const DFA_BYTES: usize = 16 << 20;
/// A text grows at random to this many bytes, and is then completed on the shortest path.
const TEXT_BYTES: usize = 16;
/// Masks are computed along at most this many tokens of the text.
const MAX_TOKENS: usize = 8;
/// Each time is the least of this many runs.
const ROUNDS: usize = 2;

fn main() -> Result<(), Box<dyn Error>> {
    let mut paths = std::env::args().skip(1).filter(|arg| arg != "--bench");
    let Some(tokenizer) = paths.next() else {
        eprintln!("no tokenizer was given: nothing is measured");
        return Ok(());
    };
    let vocabulary = Arc::new(Vocabulary::from_tokenizer_file(tokenizer)?);
    let tables = Arc::new(VocabularyTables::new(Arc::clone(&vocabulary)));
    let mut patterns = BTreeSet::new();
    for folder in paths {
        read_folder(Path::new(&folder), &mut patterns)?;
    }
    let mut groups = [Group::new("without counters"), Group::new("with counters")];
    let (mut unread, mut others) = (0, 0);
    for pattern in &patterns {
        let Ok(set) = parse(pattern, RegexOptions::json_schema()) else {
            unread += 1;
            continue;
        };
        let Some(hir) = hir(&set) else {
            others += 1;
            continue;
        };
        let group = &mut groups[usize::from(has_counters(&set))];
        match compare(&set, &hir, &tables)? {
            Some(case) => group.cases.push(case),
            None => group.refused += 1,
        }
    }
    println!(
        "{} patterns; {unread} are refused by the front end, {others} look around beyond anchors",
        patterns.len()
    );
    groups.iter().for_each(Group::print);
    Ok(())
}

fn read_folder(folder: &Path, patterns: &mut BTreeSet<String>) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            read_folder(&path, patterns)?;
        } else if let Ok(document) = serde_json::from_slice(&fs::read(&path)?) {
            read_schema(&document, patterns);
        }
    }
    Ok(())
}

fn read_schema(value: &Value, patterns: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                match (key.as_str(), value) {
                    ("pattern", Value::String(pattern)) => {
                        patterns.insert(pattern.clone());
                    }
                    ("patternProperties", Value::Object(classes)) => {
                        patterns.extend(classes.keys().cloned());
                    }
                    _ => {}
                }
                read_schema(value, patterns);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| read_schema(item, patterns)),
        _ => {}
    }
}

/// Converts a set for `regex-automata`; `None` for what it lacks.
fn hir(set: &Regular) -> Option<Hir> {
    let all = |parts: &[Regular]| parts.iter().map(hir).collect::<Option<Vec<Hir>>>();
    Some(match set {
        Regular::Never => Hir::fail(),
        Regular::Empty => Hir::empty(),
        Regular::Bytes(bytes) => Hir::literal(&bytes[..]),
        Regular::Chars(set) => {
            let ranges = set.ranges().iter();
            let ranges = ranges.map(|&(low, high)| ClassUnicodeRange::new(low, high));
            Hir::class(Class::Unicode(ClassUnicode::new(ranges)))
        }
        &Regular::ByteRange(low, high) => {
            let range = ClassBytesRange::new(low, high);
            Hir::class(Class::Bytes(ClassBytes::new([range])))
        }
        Regular::Concat(parts) => Hir::concat(all(parts)?),
        Regular::Union(arms) => Hir::alternation(all(arms)?),
        Regular::Repeat { body, min, max } => Hir::repetition(Repetition {
            min: *min,
            max: *max,
            greedy: true,
            sub: hir(body)?.into(),
        }),
        anchor if *anchor == Regular::anchor(true) => Hir::look(Look::Start),
        anchor if *anchor == Regular::anchor(false) => Hir::look(Look::End),
        Regular::Intersection(_) | Regular::Complement(_) | Regular::Look { .. } => return None,
    })
}

fn has_counters(set: &Regular) -> bool {
    let counts = |&bound: &u32| bound > 1;
    match set {
        Regular::Repeat { min, max, .. } if counts(min) || max.as_ref().is_some_and(counts) => true,
        _ => set.parts().iter().any(has_counters),
    }
}

/// A dense automaton as a machine. Costs are computed for all states at once, backwards from the final ones.
#[derive(Debug)]
struct DenseMachine {
    dfa: dense::DFA<Vec<u32>>,
    start: StateID,
    costs: FxHashMap<StateID, u32>,
    /// By byte, the bytes around it of the same class.
    runs: Box<[(u8, u8); 256]>,
}

impl DenseMachine {
    /// Returns `None` if a limit is exceeded.
    fn new(hir: &Hir) -> Option<Self> {
        let whole = Hir::concat(vec![hir.clone(), Hir::look(Look::End)]);
        let nfa = thompson::Compiler::new()
            .configure(
                thompson::Config::new()
                    .nfa_size_limit(Some(DFA_BYTES))
                    .which_captures(thompson::WhichCaptures::None),
            )
            .build_from_hir(&whole)
            .ok()?;
        let config = dense::Config::new()
            .start_kind(StartKind::Anchored)
            .match_kind(MatchKind::All)
            .dfa_size_limit(Some(DFA_BYTES))
            .determinize_size_limit(Some(DFA_BYTES));
        let dfa = dense::Builder::new()
            .configure(config)
            .build_from_nfa(&nfa)
            .ok()?;
        let anchored = start::Config::new().anchored(Anchored::Yes);
        let start = dfa.start_state(&anchored).ok()?;
        let mut runs = Box::new([(0, 0); 256]);
        let classes = dfa.byte_classes();
        for byte in 0..=u8::MAX {
            let same = |&other: &u8| classes.get(other) == classes.get(byte);
            let low = (0..=byte).rev().take_while(same).last();
            let high = (byte..=u8::MAX).take_while(same).last();
            runs[usize::from(byte)] = (low.unwrap_or(byte), high.unwrap_or(byte));
        }
        let mut machine = Self {
            costs: FxHashMap::default(),
            dfa,
            start,
            runs,
        };
        machine.find_costs();
        Some(machine)
    }

    fn find_costs(&mut self) {
        let mut callers: FxHashMap<StateID, Vec<StateID>> = FxHashMap::default();
        let mut open = vec![self.start];
        callers.insert(self.start, Vec::new());
        let mut queue = VecDeque::new();
        while let Some(state) = open.pop() {
            if self.dfa.is_match_state(self.dfa.next_eoi_state(state)) {
                self.costs.insert(state, 0);
                queue.push_back(state);
            }
            let classes = self.dfa.byte_classes();
            for byte in { classes.representatives(..) }.filter_map(|unit| unit.as_u8()) {
                let next = self.dfa.next_state(state, byte);
                let known = callers.entry(next).or_insert_with(|| {
                    open.push(next);
                    Vec::new()
                });
                known.push(state);
            }
        }
        while let Some(state) = queue.pop_front() {
            let cost = self.costs[&state] + 1;
            for &caller in &callers[&state] {
                self.costs.entry(caller).or_insert_with(|| {
                    queue.push_back(caller);
                    cost
                });
            }
        }
    }

    fn if_live(&self, state: StateID) -> Option<StateID> {
        self.costs.contains_key(&state).then_some(state)
    }
}

impl Machine for DenseMachine {
    type State = StateID;
    type Error = LimitExceeded;

    fn start(&mut self) -> Result<Option<StateID>, LimitExceeded> {
        Ok(self.if_live(self.start))
    }

    fn step(&mut self, state: &StateID, byte: u8) -> Result<Option<StateID>, LimitExceeded> {
        Ok(self.if_live(self.dfa.next_state(*state, byte)))
    }

    fn accept(&self, state: &StateID) -> Option<u32> {
        (self.costs[state] == 0).then_some(0)
    }

    fn equivalent_bytes(&mut self, _state: &StateID, byte: u8) -> (u8, u8) {
        self.runs[usize::from(byte)]
    }

    fn has_classes(&self, _state: &StateID) -> bool {
        true
    }

    fn cost(&mut self, state: &StateID) -> u32 {
        self.costs[state]
    }
}

/// The measurements of one engine for one pattern.
#[derive(Clone, Copy, Debug)]
struct Measured {
    /// Building the machine.
    build: Duration,
    /// The time of all masks along the text, and of accepting its tokens, on a new machine.
    first: Duration,
    /// The same once more.
    again: Duration,
    /// The memory of the machine with its terminal after that, in bytes.
    bytes: u64,
}

/// Derivatives, a dense automaton, and one without a terminal; it is not minimised, which would take many times as long
/// as building it. Last comes a matcher, which does not walk the whole trie but queries terminals.
type Case = [Measured; 4];

const ENGINES: [&str; 4] = ["derivatives", "dense", "dense, alone", "matcher"];

/// Returns `None` if a dense automaton exceeds a limit, or nothing matches the pattern.
fn compare(
    set: &Regular,
    hir: &Hir,
    tables: &Arc<VocabularyTables>,
) -> Result<Option<Case>, Box<dyn Error>> {
    let vocabulary = &**tables.vocabulary();
    let derivatives = || {
        let machine = RegularMachine::new(set, RegularLimits::default()).ok()?;
        Terminal::new(machine).ok()
    };
    let dense = || Terminal::new(DenseMachine::new(hir)?).ok();
    let Some(mut terminal) = derivatives().filter(|terminal| !terminal.is_never()) else {
        return Ok(None);
    };
    let text = text(&terminal)?;
    let tokens = tokens(vocabulary, &text);
    let run = |terminal: &mut Terminal| masks(terminal, vocabulary, &tokens);
    let expected = run(&mut terminal)?;
    let Some(mut other) = dense() else {
        return Ok(None);
    };
    let mut alone = DenseMachine::new(hir).ok_or("it was built before")?;
    let run_alone = |alone: &mut DenseMachine| masks(alone, vocabulary, &tokens);
    if run(&mut other)? != expected || run_alone(&mut alone)? != expected {
        return Err(format!("masks differ on {set:?}").into());
    }
    Ok(Some([
        measure(derivatives, &run)?,
        measure(dense, &run)?,
        measure(|| DenseMachine::new(hir), &run_alone)?,
        measure(
            || Some(constraint(set, tables)?.matcher()),
            &|matcher: &mut Matcher| matcher_masks(&mut matcher.clone(), &tokens),
        )?,
    ]))
}

fn measure<E>(
    new: impl Fn() -> Option<E>,
    run: &impl Fn(&mut E) -> Result<Vec<TokenMask>, Box<dyn Error>>,
) -> Result<Measured, Box<dyn Error>> {
    let mut measured = Measured {
        build: Duration::MAX,
        first: Duration::MAX,
        again: Duration::MAX,
        bytes: 0,
    };
    for _ in 0..ROUNDS {
        let started = Instant::now();
        let mut engine = new().ok_or("it was built before")?;
        measured.build = measured.build.min(started.elapsed());
        for time in [&mut measured.first, &mut measured.again] {
            let started = Instant::now();
            drop(run(&mut engine)?);
            *time = (*time).min(started.elapsed());
        }
    }
    let mut kept = None;
    let info = allocation_counter::measure(|| {
        kept = new();
        if let Some(engine) = &mut kept {
            drop(run(engine));
        }
    });
    measured.bytes = u64::try_from(info.bytes_current).unwrap_or(0);
    Ok(measured)
}

/// Returns a text of the terminal: random while it is short, completed on the shortest path after that.
fn text(terminal: &Terminal) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut text = Vec::new();
    let mut state = START;
    let mut random = 1_u64;
    while text.len() < TEXT_BYTES || terminal.cost(state) > 0 {
        let mut ways: Vec<(u8, TerminalState)> = Vec::new();
        for byte in 0..=u8::MAX {
            let next = terminal.step(state, byte)?;
            let cost = terminal.cost(state);
            let is_way = text.len() < TEXT_BYTES || terminal.cost(next) < cost;
            if next != DEAD && is_way {
                ways.push((byte, next));
            }
        }
        if ways.is_empty() {
            break;
        }
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        // Texts consist mostly of printable characters.
        let printable = ways.iter().filter(|(byte, _)| (b' '..=b'~').contains(byte));
        let printable: Vec<_> = printable.copied().collect();
        let ways = if printable.is_empty() {
            ways
        } else {
            printable
        };
        let (byte, next) = ways[(random >> 33) as usize % ways.len()];
        text.push(byte);
        state = next;
    }
    Ok(text)
}

/// Splits a text into tokens, the longest each time.
fn tokens(vocabulary: &Vocabulary, mut text: &[u8]) -> Vec<TokenId> {
    let trie = vocabulary.trie();
    let mut tokens = Vec::new();
    while !text.is_empty() && tokens.len() < MAX_TOKENS {
        let mut node = TokenTrie::ROOT;
        let mut longest = None;
        for (at, &byte) in text.iter().enumerate() {
            let Some(child) = trie.child(node, byte) else {
                break;
            };
            node = child;
            longest = { trie.tokens(node).first() }
                .map(|&token| (at + 1, token))
                .or(longest);
        }
        let Some((length, token)) = longest else {
            break;
        };
        tokens.push(token);
        text = &text[length..];
    }
    tokens
}

/// Returns the mask before each token and after the last.
fn masks(
    engine: &mut impl Engine,
    vocabulary: &Vocabulary,
    tokens: &[TokenId],
) -> Result<Vec<TokenMask>, Box<dyn Error>> {
    let mut state = engine.start();
    let mut masks = vec![mask(engine, vocabulary, state)?];
    for &token in tokens {
        for &byte in vocabulary.token_bytes(token).unwrap_or_default() {
            state = engine.step(state, byte)?.ok_or("the text is matched")?;
        }
        masks.push(mask(engine, vocabulary, state)?);
    }
    Ok(masks)
}

/// Returns the constraint of a set alone.
fn constraint(set: &Regular, tables: &Arc<VocabularyTables>) -> Option<CompiledConstraint> {
    let mut builder = GrammarBuilder::new();
    let root = builder.declare("root");
    let body = builder.expr(Expr::Regular(set.clone()));
    builder.define(root, body);
    let grammar = builder.finish(root, JsonForm::generate());
    CompiledConstraint::new(grammar, tables, &ConstraintOptions::default()).ok()
}

/// Like [`masks`], as far as the matcher continues.
fn matcher_masks(
    matcher: &mut Matcher,
    tokens: &[TokenId],
) -> Result<Vec<TokenMask>, Box<dyn Error>> {
    matcher.mask()?;
    for &token in tokens {
        matcher.accept_token(token)?;
        if !matcher.is_finished() {
            matcher.mask()?;
        }
    }
    Ok(Vec::new())
}

/// An automaton that is walked along the trie.
trait Engine {
    type State: Copy;

    fn start(&self) -> Self::State;

    fn step(&mut self, state: Self::State, byte: u8) -> Result<Option<Self::State>, StepError>;
}

impl Engine for Terminal {
    type State = TerminalState;

    fn start(&self) -> TerminalState {
        START
    }

    fn step(&mut self, state: TerminalState, byte: u8) -> Result<Option<TerminalState>, StepError> {
        let next = Terminal::step(self, state, byte)?;
        Ok((next != DEAD).then_some(next))
    }
}

/// A dense automaton alone: every state that it has a transition to is live, except those made by contradicting
/// anchors.
impl Engine for DenseMachine {
    type State = StateID;

    fn start(&self) -> StateID {
        self.start
    }

    fn step(&mut self, state: StateID, byte: u8) -> Result<Option<StateID>, StepError> {
        let next = self.dfa.next_state(state, byte);
        Ok((!self.dfa.is_dead_state(next)).then_some(next))
    }
}

fn mask<E: Engine>(
    engine: &mut E,
    vocabulary: &Vocabulary,
    start: E::State,
) -> Result<TokenMask, Box<dyn Error>> {
    let trie = vocabulary.trie();
    let mut mask = TokenMask::new(vocabulary.len());
    let end = trie.node(TokenTrie::ROOT).end();
    let mut stack = vec![(end, start)];
    let mut at = TokenTrie::ROOT + 1;
    while at < end {
        while stack.last().is_some_and(|&(end, _)| end <= at) {
            stack.pop();
        }
        let Some(&(_, state)) = stack.last() else {
            break;
        };
        let node = trie.node(at);
        let Some(next) = engine.step(state, node.byte())? else {
            at = node.end();
            continue;
        };
        mask.allow_all(trie.tokens(at));
        stack.push((node.end(), next));
        at += 1;
    }
    Ok(mask)
}

/// Patterns of one kind.
struct Group {
    name: &'static str,
    cases: Vec<Case>,
    refused: usize,
}

impl Group {
    fn new(name: &'static str) -> Self {
        Self {
            name,
            cases: Vec::new(),
            refused: 0,
        }
    }

    fn print(&self) {
        println!(
            "\n{}: {} patterns, and {} whose dense automaton takes more than {} MiB",
            self.name,
            self.cases.len(),
            self.refused,
            DFA_BYTES >> 20
        );
        if self.cases.is_empty() {
            return;
        }
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        type Figure = fn(&Measured) -> f64;
        let figures: [(&str, Figure); 5] = [
            ("build, us", |case| case.build.as_secs_f64() * 1e6),
            ("first masks, us", |case| case.first.as_secs_f64() * 1e6),
            ("masks again, us", |case| case.again.as_secs_f64() * 1e6),
            ("build and first masks, us", |case| {
                (case.build + case.first).as_secs_f64() * 1e6
            }),
            ("memory, KiB", |case| case.bytes as f64 / 1024.0),
        ];
        println!(
            "  {:26} {:15} {:>10} {:>10} {:>10} {:>10} {:>10}",
            "", "", "mean", "median", "p90", "p99", "max"
        );
        for (what, figure) in figures {
            for (engine, name) in ENGINES.iter().enumerate() {
                let mut values: Vec<f64> = { self.cases.iter() }
                    .map(|case| figure(&case[engine]))
                    .collect();
                values.sort_unstable_by(f64::total_cmp);
                let at = |share: f64| values[((values.len() - 1) as f64 * share) as usize];
                let mean = values.iter().sum::<f64>() / values.len() as f64;
                println!(
                    "  {what:26} {name:15} {mean:10.1} {:10.1} {:10.1} {:10.1} {:10.1}",
                    at(0.5),
                    at(0.9),
                    at(0.99),
                    at(1.0)
                );
            }
        }
        let total = |case: &Measured| micros(case.build + case.first);
        let faster = |case: &&Case| total(&case[2]) < total(&case[0]);
        let smaller = |case: &&Case| case[2].bytes <= case[0].bytes;
        let count = |holds: &dyn Fn(&&Case) -> bool| self.cases.iter().filter(holds).count();
        println!(
            "  alone, the dense automaton is faster to its masks for {}, no larger for {}, both for {}",
            count(&faster),
            count(&smaller),
            count(&|case| faster(case) && smaller(case))
        );
    }
}
