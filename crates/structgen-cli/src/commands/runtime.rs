//! `structgen runtime`: the ONNX Runtime library.

use clap::Subcommand;
use structgen::ModelOptions;
use structgen::ort::{
    InstallOptions, InstalledRuntime, RUNTIME_VERSION, Search, install, installed, uninstall,
};

use crate::Outcome;
use crate::error::DONE;
use crate::output::{tell, write_line};

/// Options of `structgen runtime`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Install the library into structgen's cache folder, through pip: the version is pinned, the hash checked, and a
    /// damaged library replaced
    Install {
        /// Install the library with the CUDA provider, which is ten times as large
        #[arg(long)]
        cuda: bool,
        /// Reinstall the library even if it is undamaged
        #[arg(long)]
        force: bool,
    },
    /// List the libraries in the cache folder: version, kind, size, whether the files are unchanged, folder
    List,
    /// Remove the library from the cache folder
    Uninstall {
        /// Remove the library with the CUDA provider
        #[arg(long, conflicts_with = "all")]
        cuda: bool,
        /// Remove all libraries, including those of other structgen versions
        #[arg(long)]
        all: bool,
    },
}

pub(crate) fn run(args: &Args) -> Outcome {
    let search = ModelOptions::new().search();
    match args.command {
        Command::Install { cuda, force } => fetch(&search, InstallOptions { cuda, force }),
        Command::List => list(&search),
        Command::Uninstall { cuda, all } => remove(&search, |runtime| {
            all || (runtime.version == RUNTIME_VERSION && runtime.cuda == cuda)
        }),
    }
}

fn fetch(search: &Search, options: InstallOptions) -> Outcome {
    let size = match options.cuda {
        true => "about 260 MB",
        false => "about 25 MB",
    };
    tell(&format!(
        "installing ONNX Runtime {RUNTIME_VERSION} ({size}) …"
    ));
    let installed = install(search, &options)?;
    if let Some(damage) = &installed.repaired {
        tell(&format!(
            "the library was damaged, and is replaced: {damage}"
        ));
    }
    let what = match installed.already {
        true => "installed already",
        false => "installed",
    };
    write_line(&format!(
        "ONNX Runtime {RUNTIME_VERSION} is {what}: {}",
        installed.library.display()
    ))?;
    Ok(DONE)
}

fn list(search: &Search) -> Outcome {
    let runtimes = installed(search)?;
    if runtimes.is_empty() {
        tell("no library is installed");
    }
    for runtime in runtimes {
        let state = match &runtime.damage {
            None => "verified".to_owned(),
            Some(damage) if damage.is_denied_access() => format!("not checked: {damage}"),
            Some(damage) => format!("damaged: {damage}"),
        };
        write_line(&format!("{}  {state}", describe(&runtime)))?;
    }
    Ok(DONE)
}

fn remove(search: &Search, is_meant: impl Fn(&InstalledRuntime) -> bool) -> Outcome {
    let mut removed = 0;
    for runtime in installed(search)? {
        if is_meant(&runtime) {
            uninstall(&runtime)?;
            write_line(&format!("removed {}", describe(&runtime)))?;
            removed += 1;
        }
    }
    if removed == 0 {
        tell("no such library is installed");
    }
    Ok(DONE)
}

fn describe(runtime: &InstalledRuntime) -> String {
    let kind = match runtime.cuda {
        true => "cuda",
        false => "cpu",
    };
    let megabytes = runtime.bytes as f64 / 1e6;
    format!(
        "{}  {kind:<4}  {megabytes:.1} MB  {}",
        runtime.version,
        runtime.folder.display()
    )
}
