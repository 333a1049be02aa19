//! The list of operations in documents: an entry for each, of which its schema, its reading and its writing are made.

/// Hands the operations to a macro, in the order in which messages list them. Those of parts are entries of a name in
/// documents, the operation, and its parts: none, one, or several, which are the fields of an object. Values and operations
/// with bodies have documents of their own, and methods of the reader that read them.
macro_rules! operations {
    ($each:ident) => {
        $each! {
            of_values {
                Full(Value) full;
                Constant(usize) constant;
            }
            of_parts {
                "iota" Iota(extent: usize);
                "unary" Unary(row: Unary);
                "binary" Binary(row: Binary);
                "compare" Compare(row: Comparison);
                "select" Select;
                "cast" Cast(to: DType);
                "view" View(map: AffineMap);
                "accumulate" Accumulate(map: AffineMap);
                "reshape" Reshape(shape: Shape);
                "concatenate" Concatenate(axis: usize);
                "gather" Gather;
                "scatter" Scatter(extents: Shape);
                "scatter_set" ScatterSet;
                "reduce" Reduce { kind: Reduction, axes: Shape };
                "arg_reduce" ArgReduce { kind: Extreme, axis: usize };
                "arg_sort" ArgSort { order: Order, axis: usize };
                "contract" Contract(labels: Contraction);
                "matrix" Matrix(row: MatrixOperation);
                "sparse" Sparse(row: SparseOperation);
            }
            of_bodies {
                Scan scan;
                Branch branch;
                Sweeps sweeps;
                Custom custom;
            }
            of_parts {
                "output" Output(position: usize);
                "alias" Alias;
                "mark" Mark;
            }
            of_bodies {
                Build build;
            }
        }
    };
}

pub(super) use operations;
