from .clustering.density import DensityClustering as DensityClustering
from .clustering.gromos import GromosClustering as GromosClustering
from .clustering.hierarchical import HierarchicalClustering as HierarchicalClustering
from .correlation import autocorrelation as autocorrelation
from .correlation import block_averages as block_averages
from .correlation import statistical_inefficiency as statistical_inefficiency
from .cross_correlation import CrossCorrelation as CrossCorrelation
from .user.reducers import Reducer as Reducer
