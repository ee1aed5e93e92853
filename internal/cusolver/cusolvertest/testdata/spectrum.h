// Singular values and eigenvalues, by Jacobi's rotations.

// One-sided Jacobi: rotates columns i and j of a, and of v, until they are orthogonal. Reports whether it did.
static int rotate(number* a, int64_t m, number* v, int64_t n, int64_t i, int64_t j) {
	double x = 0, y = 0;
	number z = 0;
	for (int64_t k = 0; k < m; k++) {
		x += square(a[k + i * m]);
		y += square(a[k + j * m]);
		z += mul(conj(a[k + i * m]), a[k + j * m]);
	}
	double size = cabs(z);
	if (size < 1e-290 || size <= 1e-16 * sqrt(x * y)) return 0;
	number phase = z / size;
	double zeta = (y - x) / (2 * size), t = copysign(1, zeta) / (fabs(zeta) + hypot(1, zeta)), c = 1 / hypot(1, t), s = c * t;
	for (int side = 0; side < 2; side++) {
		number* b = side == 0 ? a : v;
		int64_t rows = side == 0 ? m : n;
		for (int64_t k = 0; k < rows; k++) {
			number p = b[k + i * rows], q = mul(b[k + j * rows], conj(phase));
			b[k + i * rows] = c * p - s * q;
			b[k + j * rows] = s * p + c * q;
		}
	}
	return 1;
}

// complete makes columns from on orthonormal to those before.
static void complete(number* u, int64_t m, int64_t from, int64_t n) {
	int64_t unit = 0;
	for (int64_t j = from; j < n; j++)
		for (double size = 0; size < 0.5 / sqrt((double)m); unit++) {
			for (int64_t i = 0; i < m; i++) u[i + j * m] = i == unit % m;
			for (int pass = 0; pass < 3; pass++)
				for (int64_t k = 0; k < j; k++) {
					number dot = 0;
					for (int64_t i = 0; i < m; i++) dot += mul(conj(u[i + k * m]), u[i + j * m]);
					for (int64_t i = 0; i < m; i++) u[i + j * m] -= mul(dot, u[i + k * m]);
				}
			size = 0;
			for (int64_t i = 0; i < m; i++) size += square(u[i + j * m]);
			size = sqrt(size);
			for (int64_t i = 0; i < m; i++) u[i + j * m] /= size > 0 ? size : 1;
		}
}

// svd sets s, descending, the columns of u, m x columns, and v, n x n, of a, m x n with m >= n.
static void svd(const number* given, int64_t m, int64_t n, double* s, number* u, int64_t columns, number* v) {
	number *a = malloc(sizeof(number) * (size_t)(m * n)), *w = calloc((size_t)(n * n), sizeof(number));
	double scale = 0; // products of small numbers underflow
	for (int64_t i = 0; i < m * n; i++) scale = fmax(scale, cabs(given[i]));
	for (int64_t i = 0; i < m * n; i++) a[i] = scale > 0 ? given[i] / scale : 0;
	for (int64_t i = 0; i < n; i++) w[i + i * n] = 1;
	for (int sweep = 0, moved = 1; moved && sweep < 60; sweep++) {
		moved = 0;
		for (int64_t i = 0; i < n; i++)
			for (int64_t j = i + 1; j < n; j++) moved |= rotate(a, m, w, n, i, j);
	}
	int64_t rank = 0;
	for (int64_t k = 0; k < n; k++) { // the largest of the rest
		int64_t best = -1;
		double size = -1;
		for (int64_t j = 0; j < n; j++) {
			double norm = 0;
			for (int64_t i = 0; i < m; i++) norm += square(a[i + j * m]);
			if (!isnan(creal(w[j * n])) && norm > size) size = norm, best = j;
		}
		s[k] = sqrt(size) * scale;
		for (int64_t i = 0; i < n; i++) v[i + k * n] = w[i + best * n];
		w[best * n] = NAN; // taken
		if (size > 1e-30) {
			for (int64_t i = 0; i < m; i++) u[i + k * m] = a[i + best * m] / sqrt(size);
			rank = k + 1;
		}
	}
	complete(u, m, rank, columns);
	free(a);
	free(w);
}

static void gesvd(int type, void* p, int64_t m, int64_t n, int64_t lda, void* s, void* u, int64_t ldu, int64_t columns, void* v, int64_t ldv, int adjoint, int vectors) {
	number *a = fetch(type, p, m, n, lda), *left = malloc(sizeof(number) * (size_t)(m * m)), *right = malloc(sizeof(number) * (size_t)(n * n));
	double* values = malloc(sizeof(double) * (size_t)n);
	svd(a, m, n, values, left, columns, right);
	for (int64_t i = 0; i < n; i++) store(type & 1, s, i, values[i]);
	for (int64_t i = 0; i < m * n; i++) a[i] = NAN;
	put(type, p, m, n, lda, a);
	if (vectors) {
		put(type, u, m, columns, ldu, left);
		for (int64_t i = 0; i < n; i++)
			for (int64_t j = 0; j < n; j++) store(type, v, i + j * ldv, adjoint ? conj(right[j + i * n]) : right[i + j * n]);
	}
	free(a);
	free(left);
	free(right);
	free(values);
}

int cusolverDnXgesvd_bufferSize(void* h, void* params, signed char jobu, signed char jobvt, int64_t m, int64_t n, int type, const void* a, int64_t lda, int type_s,
	const void* s, int type_u, const void* u, int64_t ldu, int type_v, const void* vt, int64_t ldvt, int compute, size_t* bytes, size_t* host) {
	if (m < n || lda < m || ldu < m || ldvt < n || jobu != jobvt || type_s != (type & 1) || type_u != type || type_v != type || compute != type || !a || !s || !u || !vt)
		return INVALID;
	SIZES(m, n)
}

int cusolverDnXgesvd(void* h, void* params, signed char jobu, signed char jobvt, int64_t m, int64_t n, int type, void* a, int64_t lda, int type_s, void* s, int type_u,
	void* u, int64_t ldu, int type_v, void* vt, int64_t ldvt, int compute, void* work, size_t bytes, void* room, size_t host, int* info) {
	BEGIN("Xgesvd", params && m >= n && jobu == jobvt && type_s == (type & 1) && type_u == type && type_v == type && compute == type && bytes == need(m, n) && host >= need_host(n))
	poison(work, bytes, room, host);
	gesvd(type, a, m, n, lda, s, u, ldu, jobu == 'A' ? m : n, vt, ldvt, 1, jobu != 'N');
	*info = 0;
	END(info)
}

int cusolverDnXgesvdp_bufferSize(void* h, void* params, int jobz, int econ, int64_t m, int64_t n, int type, const void* a, int64_t lda, int type_s, const void* s, int type_u,
	const void* u, int64_t ldu, int type_v, const void* v, int64_t ldv, int compute, size_t* bytes, size_t* host) {
	(void)jobz, (void)econ;
	if (m < n || lda < m || ldu < m || ldv < n || type_s != (type & 1) || type_u != type || type_v != type || compute != type || !a || !s || !u || !v) return INVALID;
	SIZES(m, n)
}

int cusolverDnXgesvdp(void* h, void* params, int jobz, int econ, int64_t m, int64_t n, int type, void* a, int64_t lda, int type_s, void* s, int type_u, void* u,
	int64_t ldu, int type_v, void* v, int64_t ldv, int compute, void* work, size_t bytes, void* room, size_t host, int* info, double* sigma) {
	BEGIN("Xgesvdp", params && m >= n && type_s == (type & 1) && type_u == type && type_v == type && compute == type && bytes == need(m, n) && host >= need_host(n))
	poison(work, bytes, room, host);
	gesvd(type, a, m, n, lda, s, u, ldu, econ ? n : m, v, ldv, 0, jobz);
	*info = 0;
	*sigma = 0;
	END(info)
}

static int gesvdj_size(void* h, int jobz, int econ, int m, int n, const void* a, int lda, const void* s, const void* u, int ldu, const void* v, int ldv, int* size, void* params) {
	(void)h, (void)jobz, (void)econ;
	if (!a || !s || !u || !v || lda < m || ldu < m || ldv < n || params == NULL) return INVALID;
	*size = m + n;
	return SUCCESS;
}

static int gesvdj(void* h, int jobz, int econ, int m, int n, void* a, int lda, void* s, void* u, int ldu, void* v, int ldv, void* work, int size, int* info, void* params,
	int type) {
	BEGIN("gesvdj", m >= n && params != NULL && size == m + n)
	memset(work, 0xa5, bytes_of(type) * (size_t)size);
	gesvd(type, a, m, n, lda, s, u, ldu, econ ? n : m, v, ldv, 0, jobz);
	*info = 0;
	END(info)
}

static int gesvdj_batched_size(void* h, int jobz, int m, int n, const void* a, int lda, const void* s, const void* u, int ldu, const void* v, int ldv, int* size, void* params,
	int batch) {
	if (batch < 1 || m > 32 || n > 32) return INVALID;
	return gesvdj_size(h, jobz, 0, m, n, a, lda, s, u, ldu, v, ldv, size, params);
}

// skew adds a multiple of column 1 to column 0, as an iteration that ends too early leaves them.
static void skew(int type, void* u, int64_t m, int64_t ld) {
	const char* s = getenv("GPK_FAKE_CUSOLVER_SKEW");
	double by = s != NULL ? atof(s) : 0;
	for (int64_t i = 0; by != 0 && m > 1 && i < m; i++) store(type, u, i, load(type, u, i) + by * load(type, u, i + ld));
}

static int gesvdj_batched(void* h, int jobz, int m, int n, void* a, int lda, void* s, void* u, int ldu, void* v, int ldv, void* work, int size, int* info, void* params, int batch,
	int type) {
	BEGIN("gesvdjBatched", m >= n && m <= 32 && params != NULL && size == m + n && lda == m && ldu == m && ldv == n)
	size_t bytes = bytes_of(type);
	memset(work, 0xa5, bytes * (size_t)size);
	for (int64_t i = 0; i < batch; i++) {
		gesvd(type, (char*)a + bytes * (size_t)(i * m * n), m, n, lda, (char*)s + bytes_of(type & 1) * (size_t)(i * n), (char*)u + bytes * (size_t)(i * m * m), ldu, m,
			(char*)v + bytes * (size_t)(i * n * n), ldv, 0, jobz);
		if (jobz) skew(type, (char*)u + bytes * (size_t)(i * m * m), m, ldu);
		info[i] = 0;
	}
	END(info + batch - 1)
}

// syev sets the eigenvalues, ascending, and the eigenvectors in place of a Hermitian matrix: Jacobi's
// rotations from both sides.
static void syev(int vectors, int upper, int64_t n, int type, void* p, int64_t ld, void* w) {
	number *a = fetch(type, p, n, n, ld), *v = calloc((size_t)(n * n), sizeof(number)), *sorted = malloc(sizeof(number) * (size_t)(n * n));
	for (int64_t j = 0; j < n; j++) {
		v[j + j * n] = 1;
		for (int64_t i = 0; i < n; i++)
			if (i == j) a[i + j * n] = creal(a[i + j * n]);
			else if ((i < j) != (upper != 0)) a[i + j * n] = conj(load(type, p, j + i * ld));
	}
	for (int sweep = 0; sweep < 60; sweep++) {
		double off = 0, all = 0;
		for (int64_t i = 0; i < n * n; i++) *(i % (n + 1) == 0 ? &all : &off) += square(a[i]);
		if (off <= 1e-34 * all) break;
		for (int64_t i = 0; i < n; i++)
			for (int64_t j = i + 1; j < n; j++) {
				number z = a[i + j * n];
				double size = cabs(z);
				if (size <= 1e-20 * sqrt(all) || size < 1e-290) continue;
				number phase = z / size;
				double zeta = creal(a[j + j * n] - a[i + i * n]) / (2 * size), t = copysign(1, zeta) / (fabs(zeta) + hypot(1, zeta)), c = 1 / hypot(1, t), s = c * t;
				for (int64_t k = 0; k < n; k++) { // columns of a and v
					number x = a[k + i * n], y = mul(a[k + j * n], conj(phase)), f = v[k + i * n], g = mul(v[k + j * n], conj(phase));
					a[k + i * n] = c * x - s * y, a[k + j * n] = s * x + c * y;
					v[k + i * n] = c * f - s * g, v[k + j * n] = s * f + c * g;
				}
				for (int64_t k = 0; k < n; k++) { // rows of a
					number x = a[i + k * n], y = mul(a[j + k * n], phase);
					a[i + k * n] = c * x - s * y, a[j + k * n] = s * x + c * y;
				}
			}
	}
	for (int64_t k = 0; k < n; k++) {
		int64_t best = -1;
		for (int64_t j = 0; j < n; j++)
			if (!isnan(creal(v[j * n])) && (best < 0 || creal(a[j + j * n]) < creal(a[best + best * n]))) best = j;
		store(type & 1, w, k, a[best + best * n]);
		for (int64_t i = 0; i < n; i++) sorted[i + k * n] = v[i + best * n];
		v[best * n] = NAN; // taken
	}
	for (int64_t i = 0; i < n * n && !vectors; i++) sorted[i] = NAN;
	put(type, p, n, n, ld, sorted);
	free(a);
	free(v);
	free(sorted);
}

int cusolverDnXsyevd_bufferSize(void* h, void* params, int jobz, int uplo, int64_t n, int type, const void* a, int64_t lda, int type_w, const void* w, int compute,
	size_t* bytes, size_t* host) {
	(void)jobz, (void)uplo;
	if (a == NULL || w == NULL || lda < n || type_w != (type & 1) || compute != type) return INVALID;
	SIZES(n, n)
}

int cusolverDnXsyevd(void* h, void* params, int jobz, int uplo, int64_t n, int type, void* a, int64_t lda, int type_w, void* w, int compute, void* work, size_t bytes,
	void* room, size_t host, int* info) {
	BEGIN("Xsyevd", params != NULL && lda >= n && type_w == (type & 1) && compute == type && bytes == need(n, n) && host >= need_host(n))
	poison(work, bytes, room, host);
	syev(jobz, uplo, n, type, a, lda, w);
	*info = 0;
	END(info)
}

static void syev_all(int jobz, int uplo, int64_t n, int type, void* a, int64_t lda, void* w, int* info, int64_t batch) {
	for (int64_t i = 0; i < batch; i++) {
		syev(jobz, uplo, n, type, (char*)a + bytes_of(type) * (size_t)(i * lda * n), lda, (char*)w + bytes_of(type & 1) * (size_t)(i * n));
		info[i] = 0;
	}
}

#ifndef OLD
int cusolverDnXsyevBatched_bufferSize(void* h, void* params, int jobz, int uplo, int64_t n, int type, const void* a, int64_t lda, int type_w, const void* w, int compute,
	size_t* bytes, size_t* host, int64_t batch) {
	if (batch < 1) return INVALID;
	return cusolverDnXsyevd_bufferSize(h, params, jobz, uplo, n, type, a, lda, type_w, w, compute, bytes, host);
}

int cusolverDnXsyevBatched(void* h, void* params, int jobz, int uplo, int64_t n, int type, void* a, int64_t lda, int type_w, void* w, int compute, void* work, size_t bytes,
	void* room, size_t host, int* info, int64_t batch) {
	BEGIN("XsyevBatched", params != NULL && lda == n && type_w == (type & 1) && compute == type && bytes == need(n, n) && host >= need_host(n))
	poison(work, bytes, room, host);
	syev_all(jobz, uplo, n, type, a, lda, w, info, batch);
	END(info + batch - 1)
}
#endif

static int syevj_batched_size(void* h, int jobz, int uplo, int n, const void* a, int lda, const void* w, int* size, void* params, int batch) {
	(void)h, (void)jobz, (void)uplo;
	if (a == NULL || w == NULL || n > 32 || lda < n || batch < 1 || params == NULL) return INVALID;
	*size = n + 3;
	return SUCCESS;
}

static int syevj_batched(void* h, int jobz, int uplo, int n, void* a, int lda, void* w, void* work, int size, int* info, void* params, int batch, int type) {
	BEGIN("syevjBatched", n <= 32 && lda == n && params != NULL && size == n + 3)
	memset(work, 0xa5, bytes_of(type) * (size_t)size);
	syev_all(jobz, uplo, n, type, a, lda, w, info, batch);
	END(info + batch - 1)
}
