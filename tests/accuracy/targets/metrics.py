"""Metrics of the package torchmetrics that look at their data: branches, masks, reads."""

import torch
from torchmetrics.functional.regression import r2_score, spearman_corrcoef
from torchmetrics.functional.retrieval import retrieval_average_precision


def scores(preds, target):
    relevant = target > 0
    return r2_score(preds, target) + spearman_corrcoef(preds, target) + retrieval_average_precision(preds, relevant)


def probe_inputs():
    torch.manual_seed(0)
    return (torch.randn(32), torch.randn(32)), {}
