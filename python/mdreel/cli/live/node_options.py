"""Options for commands that connect nodes, such as addresses, tokens and certificates."""

from pathlib import Path
from typing import Annotated

from mdreel.cli.options.declare import Option

LINK = "Between nodes"

TokenFile = Annotated[
    Path | None,
    Option(
        "--token-file",
        metavar="FILE",
        group=LINK,
        help="File with a token of at least 16 characters, which both sides share. Only you can have access to it.",
    ),
]
Certificate = Annotated[
    Path | None,
    Option("--tls-certificate", metavar="FILE", group=LINK, help="Certificate of this side, for tls/ addresses."),
]
Key = Annotated[Path | None, Option("--tls-key", metavar="FILE", group=LINK, help="Private key of the certificate.")]
Authority = Annotated[
    Path | None,
    Option(
        "--tls-ca",
        metavar="FILE",
        group=LINK,
        help="Certificate of the authority that signed the certificate of the other side.",
    ),
]
