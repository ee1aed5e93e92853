"""The scikit-learn side of the example (pip install scikit-learn).

    svm.py data DIR    the breast cancer data as x_train.npy … in DIR: 8 principal components, standardised
    svm.py fit DIR     SVC on the kernels that the Go program left there, beside SVC with an RBF kernel

Both machines choose C, and scale or gamma, by the same five-fold
cross-validation on the training samples alone.
"""
import glob
import os
import re
import sys

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

CS = [0.1, 1, 10, 100]


def data(folder):
    os.makedirs(folder, exist_ok=True)
    x, y = load_breast_cancer(return_X_y=True)
    a, b, ya, yb = train_test_split(x, y, test_size=0.3, random_state=0, stratify=y)
    scale = StandardScaler().fit(a)
    pca = PCA(8, whiten=True, random_state=0).fit(scale.transform(a))
    for name, x, y in (("train", a, ya), ("test", b, yb)):
        np.save(f"{folder}/x_{name}.npy", pca.transform(scale.transform(x)))
        np.save(f"{folder}/y_{name}.npy", y)


def fit(folder):
    load = lambda name: np.load(f"{folder}/{name}.npy")
    y, yt = load("y_train"), load("y_test")
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    best = None
    for path in sorted(glob.glob(f"{folder}/k_train_*.npy")):
        scale = re.search(r"k_train_(.*)\.npy", path)[1]
        k = np.load(path).astype(np.float64)
        assert np.array_equal(k, k.T) and np.allclose(np.diag(k), 1)
        search = GridSearchCV(SVC(kernel="precomputed"), {"C": CS}, cv=folds).fit(k, y)
        if best is None or search.best_score_ > best[0]:
            best = (search.best_score_, scale, search.best_params_["C"], search)
    score, scale, c, search = best
    print(f"quantum kernel: scale {scale}, C {c:g}: cross-validation {score:.3f}, test {search.score(load(f'k_test_{scale}'), yt):.3f}")
    search = GridSearchCV(SVC(), {"C": CS, "gamma": [0.01, 0.03, 0.1, 0.3, 1]}, cv=folds).fit(load("x_train"), y)
    print(f"RBF kernel: gamma {search.best_params_['gamma']:g}, C {search.best_params_['C']:g}: cross-validation {search.best_score_:.3f}, test {search.score(load('x_test'), yt):.3f}")


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("data", "fit"):
        sys.exit(__doc__)
    {"data": data, "fit": fit}[sys.argv[1]](sys.argv[2])
