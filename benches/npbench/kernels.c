// Kernels of NPBench as loops over elements, to compare values with: what a compiler makes of the plain program.
//
// Each function takes its arrays, which it may change, the extents of all of them one after the other, and the numbers of steps. It
// leaves its result in one of the arrays, or in `out`, which has room for the largest of them. run.py compiles this file with -O3.

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define A(i, j) a[(i) * n + (j)]

static const double ALPHA = 1.5, BETA = 1.2;

void cholesky(double **x, const long *extents, const long *steps, double *out) {
    double *restrict a = x[0];
    long n = extents[0];
    for (long i = 0; i < n; i++) {
        for (long j = 0; j < i; j++) {
            for (long k = 0; k < j; k++) A(i, j) -= A(i, k) * A(j, k);
            A(i, j) /= A(j, j);
        }
        for (long k = 0; k < i; k++) A(i, i) -= A(i, k) * A(i, k);
        A(i, i) = sqrt(A(i, i));
    }
}

void ludcmp(double **x, const long *extents, const long *steps, double *out) {
    double *restrict a = x[0], *restrict b = x[1], *restrict solution = out;
    long n = extents[0];
    double *restrict y = out + n;
    for (long i = 0; i < n; i++) {
        for (long j = 0; j < i; j++) {
            for (long k = 0; k < j; k++) A(i, j) -= A(i, k) * A(k, j);
            A(i, j) /= A(j, j);
        }
        for (long j = i; j < n; j++)
            for (long k = 0; k < i; k++) A(i, j) -= A(i, k) * A(k, j);
    }
    for (long i = 0; i < n; i++) {
        y[i] = b[i];
        for (long j = 0; j < i; j++) y[i] -= A(i, j) * y[j];
    }
    for (long i = n - 1; i >= 0; i--) {
        solution[i] = y[i];
        for (long j = i + 1; j < n; j++) solution[i] -= A(i, j) * solution[j];
        solution[i] /= A(i, i);
    }
}

void trisolv(double **x, const long *extents, const long *steps, double *out) {
    double *restrict a = x[0], *restrict b = x[1];
    long n = extents[0];
    for (long i = 0; i < n; i++) {
        out[i] = b[i];
        for (long j = 0; j < i; j++) out[i] -= A(i, j) * out[j];
        out[i] /= A(i, i);
    }
}

void symm(double **x, const long *extents, const long *steps, double *out) {
    double *restrict a = x[0], *restrict b = x[1], *restrict c = x[2];
    long m = extents[0], n = extents[3];
    for (long i = 0; i < m * n; i++) c[i] *= BETA;
    for (long i = 0; i < m; i++)
        for (long j = 0; j < n; j++) {
            double sum = 0.0;
            for (long k = 0; k < i; k++) {
                c[k * n + j] += ALPHA * b[i * n + j] * a[i * m + k];
                sum += b[k * n + j] * a[i * m + k];
            }
            c[i * n + j] += ALPHA * b[i * n + j] * a[i * m + i] + ALPHA * sum;
        }
}

void syrk(double **x, const long *extents, const long *steps, double *out) {
    double *restrict a = x[0], *restrict c = x[1];
    long n = extents[0], m = extents[1];
    for (long i = 0; i < n; i++) {
        for (long j = 0; j <= i; j++) c[i * n + j] *= BETA;
        for (long k = 0; k < m; k++)
            for (long j = 0; j <= i; j++) c[i * n + j] += ALPHA * a[i * m + k] * a[j * m + k];
    }
}

void trmm(double **x, const long *extents, const long *steps, double *out) {
    double *restrict a = x[0], *restrict b = x[1];
    long m = extents[0], n = extents[3];
    for (long i = 0; i < m; i++)
        for (long j = 0; j < n; j++)
            for (long k = i + 1; k < m; k++) b[i * n + j] += a[k * m + i] * b[k * n + j];
    for (long i = 0; i < m * n; i++) b[i] *= ALPHA;
}

void jacobi_1d(double **x, const long *extents, const long *steps, double *out) {
    double *restrict a = x[0], *restrict b = x[1];
    long n = extents[0];
    for (long t = 1; t < steps[0]; t++) {
        for (long i = 1; i < n - 1; i++) b[i] = 0.33333 * (a[i - 1] + a[i] + a[i + 1]);
        for (long i = 1; i < n - 1; i++) a[i] = 0.33333 * (b[i - 1] + b[i] + b[i + 1]);
    }
}

static void mean_of_five(const double *restrict a, double *restrict b, long n) {
    for (long i = 1; i < n - 1; i++)
        for (long j = 1; j < n - 1; j++)
            b[i * n + j] = 0.2 * (A(i, j) + A(i, j - 1) + A(i, j + 1) + A(i + 1, j) + A(i - 1, j));
}

void jacobi_2d(double **x, const long *extents, const long *steps, double *out) {
    for (long t = 1; t < steps[0]; t++) {
        mean_of_five(x[0], x[1], extents[0]);
        mean_of_five(x[1], x[0], extents[0]);
    }
}

static void heated(const double *restrict a, double *restrict b, long n) {
    long row = n, plane = n * n;
    for (long i = 1; i < n - 1; i++)
        for (long j = 1; j < n - 1; j++)
            for (long k = 1; k < n - 1; k++) {
                const double *at = a + i * plane + j * row + k;
                b[i * plane + j * row + k] = 0.125 * (at[plane] - 2.0 * at[0] + at[-plane])
                    + 0.125 * (at[row] - 2.0 * at[0] + at[-row]) + 0.125 * (at[1] - 2.0 * at[0] + at[-1]) + at[0];
            }
}

void heat_3d(double **x, const long *extents, const long *steps, double *out) {
    for (long t = 1; t < steps[0]; t++) {
        heated(x[0], x[1], extents[0]);
        heated(x[1], x[0], extents[0]);
    }
}

void fdtd_2d(double **x, const long *extents, const long *steps, double *out) {
    double *restrict ex = x[0], *restrict ey = x[1], *restrict hz = x[2], *restrict source = x[3];
    long m = extents[0], n = extents[1], times = extents[6];
    for (long t = 0; t < times; t++) {
        for (long j = 0; j < n; j++) ey[j] = source[t];
        for (long i = 1; i < m; i++)
            for (long j = 0; j < n; j++) ey[i * n + j] -= 0.5 * (hz[i * n + j] - hz[(i - 1) * n + j]);
        for (long i = 0; i < m; i++)
            for (long j = 1; j < n; j++) ex[i * n + j] -= 0.5 * (hz[i * n + j] - hz[i * n + j - 1]);
        for (long i = 0; i < m - 1; i++)
            for (long j = 0; j < n - 1; j++)
                hz[i * n + j] -= 0.7 * (ex[i * n + j + 1] - ex[i * n + j] + ey[(i + 1) * n + j] - ey[i * n + j]);
    }
}

void seidel_2d(double **x, const long *extents, const long *steps, double *out) {
    double *restrict a = x[0];
    long n = extents[0];
    for (long t = 0; t < steps[0] - 1; t++)
        for (long i = 1; i < n - 1; i++)
            for (long j = 1; j < n - 1; j++)
                A(i, j) = (A(i - 1, j - 1) + A(i - 1, j) + A(i - 1, j + 1) + A(i, j - 1) + A(i, j) + A(i, j + 1)
                           + A(i + 1, j - 1) + A(i + 1, j) + A(i + 1, j + 1)) / 9.0;
}

void adi(double **x, const long *extents, const long *steps, double *out) {
    double *restrict u = x[0];
    long n = extents[0];
    double *restrict v = calloc(3 * n * n, sizeof(double)), *restrict p = v + n * n, *restrict q = p + n * n;
    double dx = 1.0 / n, dt = 1.0 / steps[0], along = 2.0 * dt / (dx * dx), across = dt / (dx * dx);
    double a = -along / 2.0, b = 1.0 + across, d = -across / 2.0, e = 1.0 + across;
    for (long t = 0; t < steps[0]; t++) {
        for (long i = 1; i < n - 1; i++) {
            v[i] = 1.0;
            p[i * n] = 0.0;
            q[i * n] = v[i];
            for (long j = 1; j < n - 1; j++) {
                double divisor = a * p[i * n + j - 1] + b;
                p[i * n + j] = -a / divisor;
                q[i * n + j] = (-d * u[j * n + i - 1] + (1.0 + 2.0 * d) * u[j * n + i] - d * u[j * n + i + 1]
                                - a * q[i * n + j - 1]) / divisor;
            }
            v[(n - 1) * n + i] = 1.0;
            for (long j = n - 2; j >= 1; j--) v[j * n + i] = p[i * n + j] * v[(j + 1) * n + i] + q[i * n + j];
        }
        for (long i = 1; i < n - 1; i++) {
            u[i * n] = 1.0;
            p[i * n] = 0.0;
            q[i * n] = u[i * n];
            for (long j = 1; j < n - 1; j++) {
                double divisor = d * p[i * n + j - 1] + e;
                p[i * n + j] = -d / divisor;
                q[i * n + j] = (-a * v[(i - 1) * n + j] + (1.0 + 2.0 * a) * v[i * n + j] - a * v[(i + 1) * n + j]
                                - d * q[i * n + j - 1]) / divisor;
            }
            u[i * n + n - 1] = 1.0;
            for (long j = n - 2; j >= 1; j--) u[i * n + j] = p[i * n + j] * u[i * n + j + 1] + q[i * n + j];
        }
    }
    free(v);
}

void deriche(double **x, const long *extents, const long *steps, double *out) {
    double *restrict image = x[0], alpha = x[1][0];
    long w = extents[0], h = extents[1];
    double *restrict y1 = calloc(2 * w * h, sizeof(double)), *restrict y2 = y1 + w * h;
    double decay = exp(-alpha);
    double k = (1.0 - decay) * (1.0 - decay) / (1.0 + alpha * decay - exp(2.0 * alpha));
    double a1 = k, a2 = k * decay * (alpha - 1.0), a3 = k * decay * (alpha + 1.0), a4 = -k * exp(-2.0 * alpha);
    double b1 = pow(2.0, -alpha), b2 = -exp(-2.0 * alpha);
    for (long i = 0; i < w; i++) {
        double *restrict in = image + i * h, *restrict one = y1 + i * h, *restrict two = y2 + i * h;
        one[0] = a1 * in[0];
        one[1] = a1 * in[1] + a2 * in[0] + b1 * one[0];
        for (long j = 2; j < h; j++) one[j] = a1 * in[j] + a2 * in[j - 1] + b1 * one[j - 1] + b2 * one[j - 2];
        two[h - 1] = 0.0;
        two[h - 2] = a3 * in[h - 1];
        for (long j = h - 3; j >= 0; j--) two[j] = a3 * in[j + 1] + a4 * in[j + 2] + b1 * two[j + 1] + b2 * two[j + 2];
        for (long j = 0; j < h; j++) out[i * h + j] = one[j] + two[j];
    }
    for (long j = 0; j < h; j++) {
        y1[j] = a1 * out[j];
        y1[h + j] = a1 * out[h + j] + a2 * out[j] + b1 * y1[j];
        y2[(w - 1) * h + j] = 0.0;
        y2[(w - 2) * h + j] = a3 * out[(w - 1) * h + j];
    }
    for (long i = 2; i < w; i++)
        for (long j = 0; j < h; j++)
            y1[i * h + j] = a1 * out[i * h + j] + a2 * out[(i - 1) * h + j] + b1 * y1[(i - 1) * h + j] + b2 * y1[(i - 2) * h + j];
    for (long i = w - 3; i >= 0; i--)
        for (long j = 0; j < h; j++)
            y2[i * h + j] = a3 * out[(i + 1) * h + j] + a4 * out[(i + 2) * h + j] + b1 * y2[(i + 1) * h + j] + b2 * y2[(i + 2) * h + j];
    for (long i = 0; i < w * h; i++) out[i] = y1[i] + y2[i];
    free(y1);
}

void floyd_warshall(double **x, const long *extents, const long *steps, double *out) {
    double *restrict a = x[0];
    long n = extents[0];
    for (long k = 0; k < n; k++)
        for (long i = 0; i < n; i++)
            for (long j = 0; j < n; j++) {
                double through = A(i, k) + A(k, j);
                A(i, j) = through < A(i, j) ? through : A(i, j);
            }
}

void atax(double **x, const long *extents, const long *steps, double *out) {
    double *restrict a = x[0], *restrict b = x[1];
    long m = extents[0], n = extents[1];
    memset(out, 0, n * sizeof(double));
    for (long i = 0; i < m; i++) {
        double sum = 0.0;
        for (long j = 0; j < n; j++) sum += A(i, j) * b[j];
        for (long j = 0; j < n; j++) out[j] += A(i, j) * sum;
    }
}

void bicg(double **x, const long *extents, const long *steps, double *out) {
    double *restrict a = x[0], *restrict p = x[1], *restrict r = x[2], *restrict s = out;
    long m = extents[0], n = extents[1];
    double *restrict q = out + n;
    memset(s, 0, n * sizeof(double));
    for (long i = 0; i < m; i++) {
        q[i] = 0.0;
        for (long j = 0; j < n; j++) {
            s[j] += r[i] * A(i, j);
            q[i] += A(i, j) * p[j];
        }
    }
}

void gesummv(double **x, const long *extents, const long *steps, double *out) {
    double *restrict a = x[0], *restrict b = x[1], *restrict c = x[2];
    long n = extents[0];
    for (long i = 0; i < n; i++) {
        double one = 0.0, two = 0.0;
        for (long j = 0; j < n; j++) {
            one += A(i, j) * c[j];
            two += b[i * n + j] * c[j];
        }
        out[i] = ALPHA * one + BETA * two;
    }
}
