"""Articles at the beginning of a string: an answer has none, as in "the venue is the Methodist hall".

`crates/structgen/src/reader/articles.rs` reads the same list.
"""

import pathlib
import re

LIST = pathlib.Path(__file__).parent / "../crates/structgen/src/reader/articles.txt"
ARTICLE = re.compile(rf"(?:(?:{'|'.join(sorted(set(LIST.read_text().split())))})\s+|l['’])(?=[^\W_])")


def without_article(text):
    """The text without lowercase articles at its beginning. A capital letter may begin a title."""
    while m := ARTICLE.match(text):
        text = text[m.end() :]
    return text
