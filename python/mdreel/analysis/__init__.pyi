from .clustering.gromos import GromosClustering as GromosClustering
from .correlation import autocorrelation as autocorrelation
from .correlation import block_averages as block_averages
from .correlation import statistical_inefficiency as statistical_inefficiency
from .fingerprints.fingerprint import InteractionFingerprint as InteractionFingerprint
from .user.reducers import Reducer as Reducer
