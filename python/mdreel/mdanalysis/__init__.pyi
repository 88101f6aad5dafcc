from .accelerate import accelerate as accelerate
from .accelerate import unaccelerate as unaccelerate
from .backend import backend as backend
