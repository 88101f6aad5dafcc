"""The options of commands that connect nodes: who may, and by what they are known."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from mdreel.live.nodes.security import Security

LINK = "Between nodes"

TokenFile = Annotated[
    Path | None,
    typer.Option(
        "--token-file",
        metavar="FILE",
        rich_help_panel=LINK,
        help="A secret of 16 characters or more that both sides have, in a file that nobody else can read.",
    ),
]
Certificate = Annotated[
    Path | None,
    typer.Option(
        "--tls-certificate", metavar="FILE", rich_help_panel=LINK, help="Our certificate, for tls/ addresses."
    ),
]
Key = Annotated[Path | None, typer.Option("--tls-key", metavar="FILE", rich_help_panel=LINK, help="Its private key.")]
Authority = Annotated[
    Path | None,
    typer.Option(
        "--tls-ca",
        metavar="FILE",
        rich_help_panel=LINK,
        help="The certificate of the authority by which the other side is known.",
    ),
]


def security_of(
    token_file: Path | None, certificate: Path | None, key: Path | None, authority: Path | None
) -> "Security":
    """Return what was said of tokens and certificates."""
    from mdreel.live.nodes.security import Security

    return Security(token_file, certificate, key, authority)
