from .check import Defect as Defect
from .check import Report as Report
from .check import check as check
from .concat import concat as concat
from .convert import convert as convert
from .follow import follow as follow
from .frame_arrays import FrameArrays as FrameArrays
from .info import info as info
from .open import open as open  # noqa: A004
from .read import read as read
from .remote import RemoteFile as RemoteFile
from .repack import repack as repack
from .split import split as split
from .universe import source_of as source_of
from .write_report import Written as Written
