use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use tenon_compiler::diagnostic::Id;
use tenon_compiler::{driver, new, architecture};
use tenon_diagnostics::corrupt::{self, Kind, Lexicon, Places};
use tenon_diagnostics::verdict::{Subject, Verdict};

#[test]
fn corruption() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().parent().unwrap();
    let all = driver::read(root, "tests/golden", "kernel-templates").unwrap();
    let templates = driver::only(&all, &[]);
    let mut subjects = Vec::new();
    for name in driver::model_names(&all) {
        let folder = root.join("tests/golden").join(&name);
        let text = std::fs::read_to_string(folder.join("MODEL.toml")).unwrap();
        let checkpoint = driver::checkpoint(&folder).unwrap();
        subjects.push(Subject::new(&name, text, None, checkpoint, templates.clone()).unwrap());
    }
    let mut folders: Vec<_> = std::fs::read_dir(root.join("tests/unseen")).unwrap().map(|e| e.unwrap().path()).collect();
    if let Some(more) = std::env::var_os("MORE") { folders.extend(std::fs::read_dir(more).unwrap().map(|e| e.unwrap().path())); }
    folders.sort();
    for folder in folders.iter().filter(|f| f.join("config.json").exists()) {
        let name = format!("{}-unseen", folder.file_name().unwrap().to_string_lossy());
        let checkpoint = driver::checkpoint(folder).unwrap();
        let text = match new::draft(&name, &checkpoint) { Ok(d) => d.text, Err(e) => { println!("{name}: {e:?}"); continue } };
        match Subject::new(&name, text, None, checkpoint, templates.clone()) { Ok(s) => subjects.push(s), Err(e) => println!("{name}: {e}") }
    }
    let mut lexicon = Lexicon::default();
    for subject in &subjects { lexicon.read(&subject.text); }
    for subject in &subjects { names(subject, &mut lexicon); }
    let work: Vec<(usize, corrupt::Corruption)> = subjects.iter().enumerate().flat_map(|(i, s)| corrupt::every(&s.text, &lexicon).into_iter().map(move |c| (i, c))).collect();
    let step: usize = std::env::var("STEP").map_or(1, |s| s.parse().unwrap());
    let work: Vec<_> = work.into_iter().step_by(step).collect();
    println!("{} corruptions of {} subjects", work.len(), subjects.len());
    std::panic::set_hook(Box::new(|_| {}));
    let started = Instant::now();
    let next = AtomicUsize::new(0);
    let results: Vec<Vec<(usize, Verdict)>> = std::thread::scope(|scope| {
        let hs: Vec<_> = (0..std::thread::available_parallelism().unwrap().get()).map(|_| scope.spawn(|| {
            let mut out = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some((s, c)) = work.get(at) else { return out };
                let subject = &subjects[*s];
                out.push((at, subject.judge(&c.apply(&subject.text), None)));
            }
        })).collect();
        hs.into_iter().map(|h| h.join().unwrap()).collect()
    });
    let took = started.elapsed();
    let _ = std::panic::take_hook();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut results: Vec<(usize, Verdict)> = results.into_iter().flatten().collect();
    results.sort_by_key(|(at, _)| *at);
    let mut log = String::new();
    for (at, verdict) in results {
        let (s, c) = &work[at];
        let label = match &verdict {
            Verdict::Refused(id) => format!("refused {}", Id::as_str(*id)),
            Verdict::Config(_) => "config".into(),
            Verdict::Tensors(_) => "tensors".into(),
            Verdict::Same => "same".into(),
            Verdict::Different(_) => "different".into(),
            Verdict::Panicked(_) => "panicked".into(),
        };
        log += &format!("{label}\t{}\t{}\t{}\t{}\t{verdict:?}\n", subjects[*s].name, c.place, c.operator, c.what());
        *counts.entry(label).or_default() += 1;
    }
    std::fs::write("/tmp/corruption.log", log).unwrap();
    for (label, count) in counts { println!("{count:7} {label}"); }
    println!("{took:?}, {:?} each", took / work.len() as u32);
}

fn names(subject: &Subject, lexicon: &mut Lexicon) {
    let places = Places::of(&subject.text);
    let tables: Vec<String> = places.tables.iter().map(|t| t.path.rsplit('.').next().unwrap().to_owned()).collect();
    for e in &places.entries {
        let range = match &e.kind { Kind::Text(_) => e.value.clone(), Kind::List(l) if !l.is_empty() => l[0].0.clone(), _ => continue };
        let mut text = subject.text.clone();
        text.replace_range(range, "\"qqq\"");
        let sources = subject.sources(&text, None);
        let Err(diags) = tenon_compiler::models(&sources) else { continue };
        for d in diags.sorted() {
            for l in &d.labels {
                if let Some(list) = l.text.strip_prefix("legal: ") {
                    lexicon.add_names(&e.general, list.split('`').skip(1).step_by(2).map(str::to_owned));
                }
            }
        }
        if e.path == "checkpoint.model_type" { lexicon.add_names(&e.general, architecture::ARCHITECTURES.iter().map(|a| a.model_type.to_owned())); }
        if e.path.starts_with("layers.") { lexicon.add_names(&e.general, tables.iter().cloned()); }
        lexicon.add_names(&e.general, ["none".to_owned(), "checkpoint".to_owned(), "default".to_owned()]);
    }
}
