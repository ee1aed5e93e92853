// Cholesky, LU and QR, by the plainest algorithms.

// Cholesky. What lies in the other triangle is left.
static int potrf(int upper, int64_t n, int type, void* p, int64_t ld) {
	number* a = fetch(type, p, n, n, ld);
	int info = 0;
	for (int64_t j = 0; j < n && info == 0; j++) {
		for (int64_t i = j; i < n; i++) { // L, or U^H
			number v = upper ? conj(a[j + i * n]) : a[i + j * n];
			for (int64_t k = 0; k < j; k++) v -= upper ? mul(conj(a[k + i * n]), a[k + j * n]) : mul(a[i + k * n], conj(a[j + k * n]));
			if (i == j) {
				if (!(creal(v) > 0)) { info = (int)j + 1; break; }
				a[j + j * n] = sqrt(creal(v));
			} else if (upper) {
				a[j + i * n] = conj(v / a[j + j * n]);
			} else {
				a[i + j * n] = v / a[j + j * n];
			}
		}
	}
	put(type, p, n, n, ld, a);
	free(a);
	return info;
}

int cusolverDnXpotrf_bufferSize(void* h, void* params, int uplo, int64_t n, int type, const void* a, int64_t lda, int compute, size_t* bytes, size_t* host) {
	if (a == NULL || uplo < 0 || uplo > 1 || lda < n || compute != type) return INVALID;
	SIZES(n, n)
}

int cusolverDnXpotrf(void* h, void* params, int uplo, int64_t n, int type, void* a, int64_t lda, int compute, void* work, size_t bytes, void* room, size_t host, int* info) {
	BEGIN("Xpotrf", params != NULL && lda >= n && compute == type && bytes == need(n, n) && host >= need_host(n))
	poison(work, bytes, room, host);
	*info = potrf(uplo, n, type, a, lda);
	END(info)
}

static int potrf_batched(void* h, int uplo, int n, void* list, int lda, int* info, int batch, int type) {
	BEGIN("potrfBatched", lda >= n && batch > 0)
	for (int i = 0; i < batch; i++) info[i] = potrf(uplo, n, type, ((void**)list)[i], lda);
	END(info + batch - 1)
}

int cusolverDnXpotrs(void* h, void* params, int uplo, int64_t n, int64_t nrhs, int type, const void* p, int64_t lda, int type_b, void* b, int64_t ldb, int* info) {
	BEGIN("Xpotrs", params != NULL && lda >= n && ldb >= n && type_b == type)
	number *a = fetch(type, p, n, n, lda), *x = fetch(type, b, n, nrhs, ldb);
	for (int64_t c = 0; c < nrhs; c++) {
		number* y = x + c * n;
		for (int64_t i = 0; i < n; i++) {
			for (int64_t k = 0; k < i; k++) y[i] -= (uplo ? conj(a[k + i * n]) : a[i + k * n]) * y[k];
			y[i] /= a[i + i * n];
		}
		for (int64_t i = n - 1; i >= 0; i--) {
			for (int64_t k = i + 1; k < n; k++) y[i] -= (uplo ? a[i + k * n] : conj(a[k + i * n])) * y[k];
			y[i] /= a[i + i * n];
		}
	}
	put(type, b, n, nrhs, ldb, x);
	free(a);
	free(x);
	*info = 0;
	END(info)
}

// LU. Behind a zero pivot there is NaN: callers must not use it.
int cusolverDnXgetrf_bufferSize(void* h, void* params, int64_t m, int64_t n, int type, const void* a, int64_t lda, int compute, size_t* bytes, size_t* host) {
	if (a == NULL || lda < m || compute != type) return INVALID;
	SIZES(m, n)
}

int cusolverDnXgetrf(void* h, void* params, int64_t m, int64_t n, int type, void* p, int64_t lda, int64_t* ipiv, int compute, void* work, size_t bytes, void* room,
	size_t host, int* info) {
	BEGIN("Xgetrf", params != NULL && lda >= m && compute == type && bytes == need(m, n) && host >= need_host(n))
	poison(work, bytes, room, host);
	number* a = fetch(type, p, m, n, lda);
	*info = 0;
	for (int64_t k = 0; k < m && k < n; k++) {
		int64_t best = k;
		for (int64_t i = k + 1; i < m; i++)
			if (fabs(creal(a[i + k * m])) + fabs(cimag(a[i + k * m])) > fabs(creal(a[best + k * m])) + fabs(cimag(a[best + k * m]))) best = i;
		ipiv[k] = best + 1;
		if (a[best + k * m] == 0 && *info == 0) *info = (int)k + 1;
		for (int64_t j = 0; j < n; j++) {
			number t = a[k + j * m];
			a[k + j * m] = a[best + j * m];
			a[best + j * m] = t;
		}
		for (int64_t i = k + 1; i < m; i++) {
			a[i + k * m] /= a[k + k * m];
			for (int64_t j = k + 1; j < n; j++) a[i + j * m] -= mul(a[i + k * m], a[k + j * m]);
		}
	}
	put(type, p, m, n, lda, a);
	free(a);
	END(info)
}

static void swap_rows(number* y, int64_t n, const int64_t* ipiv, int back) {
	for (int64_t s = 0; s < n; s++) {
		int64_t i = back ? n - 1 - s : s, j = ipiv[i] - 1;
		number t = y[i];
		y[i] = y[j];
		y[j] = t;
	}
}

int cusolverDnXgetrs(void* h, void* params, int trans, int64_t n, int64_t nrhs, int type, const void* p, int64_t lda, const int64_t* ipiv, int type_b, void* b,
	int64_t ldb, int* info) {
	BEGIN("Xgetrs", params != NULL && lda >= n && ldb >= n && type_b == type && (trans == 0 || trans == 2))
	number *a = fetch(type, p, n, n, lda), *x = fetch(type, b, n, nrhs, ldb);
	for (int64_t c = 0; c < nrhs; c++) {
		number* y = x + c * n;
		if (trans == 0) {
			swap_rows(y, n, ipiv, 0);
			for (int64_t i = 0; i < n; i++)
				for (int64_t k = 0; k < i; k++) y[i] -= a[i + k * n] * y[k];
			for (int64_t i = n - 1; i >= 0; i--) {
				for (int64_t k = i + 1; k < n; k++) y[i] -= a[i + k * n] * y[k];
				y[i] /= a[i + i * n];
			}
			continue;
		}
		for (int64_t i = 0; i < n; i++) { // U^H L^H P
			for (int64_t k = 0; k < i; k++) y[i] -= conj(a[k + i * n]) * y[k];
			y[i] /= conj(a[i + i * n]);
		}
		for (int64_t i = n - 1; i >= 0; i--)
			for (int64_t k = i + 1; k < n; k++) y[i] -= conj(a[k + i * n]) * y[k];
		swap_rows(y, n, ipiv, 1);
	}
	put(type, b, n, nrhs, ldb, x);
	free(a);
	free(x);
	*info = 0;
	END(info)
}

// QR by reflectors I - tau v v^H with v[0] = 1.
static void reflect(number* c, int64_t m, int64_t columns, const number* v, number tau, int64_t rows, int64_t at) {
	for (int64_t j = 0; j < columns; j++) {
		number sum = 0;
		for (int64_t i = at; i < rows; i++) sum += mul(conj(i == at ? 1 : v[i]), c[i + j * m]);
		for (int64_t i = at; i < rows; i++) c[i + j * m] -= mul(mul(tau, sum), i == at ? 1 : v[i]);
	}
}

int cusolverDnXgeqrf_bufferSize(void* h, void* params, int64_t m, int64_t n, int type, const void* a, int64_t lda, int type_tau, const void* tau, int compute,
	size_t* bytes, size_t* host) {
	if (a == NULL || tau == NULL || lda < m || type_tau != type || compute != type) return INVALID;
	SIZES(m, n)
}

int cusolverDnXgeqrf(void* h, void* params, int64_t m, int64_t n, int type, void* p, int64_t lda, int type_tau, void* tau, int compute, void* work, size_t bytes,
	void* room, size_t host, int* info) {
	BEGIN("Xgeqrf", params != NULL && lda >= m && type_tau == type && compute == type && bytes == need(m, n) && host >= need_host(n))
	poison(work, bytes, room, host);
	number* a = fetch(type, p, m, n, lda);
	for (int64_t k = 0; k < m && k < n; k++) {
		double rest = 0, largest = cabs(a[k + k * m]);
		for (int64_t i = k + 1; i < m; i++) largest = fmax(largest, cabs(a[i + k * m]));
		for (int64_t i = k + 1; i < m; i++) rest += pow(cabs(a[i + k * m]) / largest, 2);
		number alpha = a[k + k * m], t = 0;
		if (largest > 0 && (rest > 0 || cimag(alpha) != 0)) {
			double beta = -copysign(largest * sqrt(rest + pow(cabs(alpha) / largest, 2)), creal(alpha));
			t = (beta - alpha) / beta;
			for (int64_t i = k + 1; i < m; i++) a[i + k * m] /= alpha - beta;
			reflect(a + (k + 1) * m, m, n - k - 1, a + k * m, conj(t), m, k);
			a[k + k * m] = beta;
		}
		store(type, tau, k, t);
	}
	put(type, p, m, n, lda, a);
	free(a);
	*info = 0;
	END(info)
}

static int orgqr_size(void* h, int m, int n, int k, const void* a, int lda, const void* tau, int* size) {
	(void)h;
	if (a == NULL || tau == NULL || m < n || n < k || lda < m) return INVALID;
	*size = n + 5;
	return SUCCESS;
}

static int orgqr(void* h, int m, int n, int k, void* p, int lda, const void* tau, void* work, int size, int* info, int type) {
	BEGIN("orgqr", m >= n && n >= k && lda >= m && size == n + 5)
	memset(work, 0xa5, bytes_of(type) * (size_t)size);
	number *v = fetch(type, p, m, k, lda), *q = calloc((size_t)m * (size_t)n, sizeof(number));
	for (int j = 0; j < n; j++) q[j + (int64_t)j * m] = 1;
	for (int j = k - 1; j >= 0; j--) reflect(q, m, n, v + (int64_t)j * m, load(type, tau, j), m, j);
	put(type, p, m, n, lda, q);
	free(v);
	free(q);
	*info = 0;
	END(info)
}
