//! Finds out whether the page was built, so that the server can be compiled without it.

fn main() {
    println!("cargo::rustc-check-cfg=cfg(has_page)");
    println!("cargo::rerun-if-changed=page/dist");
    if std::path::Path::new("page/dist/index.html").is_file() {
        println!("cargo::rustc-cfg=has_page");
    }
}
