"""Colours, fonts and sizes of plots."""

from typing import Any

# Blue and vermilion of Okabe and Ito, "Color Universal Design" (2008): told apart with every kind of colour vision.
RAW, RAW_ALONE, SMOOTH, INK, GRID = "#8FB8D8", "#0072B2", "#D55E00", "#333333", "#E3E3E3"
STYLE: Any = {  # matplotlib's type for it lists all its settings
    "font.family": "sans-serif",
    "font.sans-serif": ["Helvetica Neue", "Arial", "Liberation Sans", "DejaVu Sans"],
    "font.size": 15,
    "axes.labelsize": 17,
    "axes.titlesize": 17,
    "axes.labelpad": 9,  # the line below a letter of t_total would meet the numbers of the axis
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
    "pdf.fonttype": 42,  # TrueType: the text stays text
    "svg.fonttype": "none",
}
SIZE = (12.0, 4.8)  # inches; half of a 16:9 slide
SEQUENTIAL = "Blues"  # from nothing to much
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")  # Okabe and Ito's, all
