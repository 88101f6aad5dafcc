"""Style of figures: colours, fonts and sizes."""

from typing import Any

# Blue and vermilion of Okabe and Ito, "Color Universal Design" (2008), are distinct for all kinds of colour vision.
RAW, RAW_ALONE, SMOOTH, INK, GRID = "#8FB8D8", "#0072B2", "#D55E00", "#333333", "#E3E3E3"
STYLE: Any = {  # the exact type in matplotlib would list all settings
    "font.family": "sans-serif",
    "font.sans-serif": ["Helvetica Neue", "Arial", "Liberation Sans", "DejaVu Sans"],
    "font.size": 15,
    "axes.labelsize": 17,
    "axes.titlesize": 17,
    "axes.labelpad": 9,  # subscripts in labels would otherwise touch the tick labels
    "xtick.labelsize": 15,
    "ytick.labelsize": 15,
    "legend.fontsize": 14,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "figure.constrained_layout.w_pad": 0.1,
    "figure.constrained_layout.h_pad": 0.1,
    "pdf.fonttype": 42,  # TrueType keeps text editable
    "svg.fonttype": "none",
}
SIZE = (12.0, 4.8)  # inches; half of a 16:9 slide
SEQUENTIAL = "Blues"  # colour map for values from 0 upwards
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")  # Okabe and Ito
