//! Batches of structs, derivatives by trees, and trees as vectors.

use super::*;

#[derive(Tree, Clone)]
struct Line<A: Algebra> {
    slope: Vector<A, f64>,
    offset: Scalar<A, f64>,
    #[tree(skip)]
    name: String,
}

fn line(slope: [f64; 2], offset: f64) -> Line<C> {
    Line { slope: v(&slope), offset: scalar(offset), name: "line".into() }
}

fn lines() -> Batch<C, Line<C>> {
    stack_trees(&[line([1.0, 2.0], 0.5), line([0.0, 1.0], 2.0), line([-1.0, 3.0], 0.0)])
}

fn loss<A: Algebra>((line, x): &(Line<A>, Vector<A, f64>)) -> Scalar<A, f64> {
    (line.slope.dot(x) + &line.offset).powi(2)
}

#[test]
fn structs_are_stacked_and_taken_apart() {
    let batch = lines();
    let shapes: Vec<_> = batch.types().into_iter().map(|ty| ty.shape.to_vec()).collect();
    assert_eq!(shapes, [vec![3, 2], vec![3]]);
    let parts = unstack_trees(&batch);
    assert_eq!(parts.len(), 3);
    assert_eq!((parts[2].slope.to_vec(), parts[2].offset.item()), (vec![-1.0, 3.0], 0.0));
    assert_eq!(parts[0].name, "line");
    assert_eq!(format!("{batch:?}"), "Batch { arrays: [f64[3, 2], f64[3]] }");
    // For trees without structs the type determines the batch.
    let pairs: (Vector<C, f64>, [Scalar<C, f64>; 1]) = (v(&[1.0, 2.0]), [scalar(3.0)]);
    let (vectors, [scalars]) = stack_trees(&[pairs.clone(), pairs]);
    assert_eq!((vectors.to_vec(), scalars.to_vec()), (vec![1.0, 2.0, 1.0, 2.0], vec![3.0, 3.0]));
}

#[test]
fn functions_of_structs_are_mapped() {
    let (batch, x) = (lines(), v(&[2.0, -1.0]));
    let gradients = vmap(|line| grad(loss, (&line, &x)), &batch);
    let each: Vec<_> = unstack_trees(&batch).iter().map(|line| grad(loss, (line, &x))).collect();
    assert_eq!(gradients.leaves(), stack_trees(&each).leaves());
    // The fields of all, and structs of the fields of all.
    let slopes = vmap(|line: Line<_>| line.slope, &gradients);
    assert_eq!(slopes.to_vec(), gradients.leaves()[0].to_vec::<f64>().unwrap());
    let name = String::new();
    let made = vmap(|(slope, offset)| Line { slope, offset, name: name.clone() }, &(slopes, v(&[1.0, 2.0, 3.0])));
    assert_eq!(unstack_trees(&made)[1].offset.item(), 2.0);
    // Staged, all gradients are one program without a loop.
    let staged = stage(|(batch, x)| vmap(|line| grad(loss, (&line, x)), batch), (&batch, &x)).unwrap();
    assert_eq!(staged.call((&batch, &x)).unwrap().leaves(), gradients.leaves());
    assert!(!staged.to_string().contains("scan"), "{staged}");
    // Other axes, and batches of batches.
    let inwards = vmap_axes(|line: Line<_>| line, &batch, [0], [1, 0]);
    assert_eq!(inwards.leaves()[0].shape(), [2, 3]);
    let twice = stack_trees(&[batch.clone(), batch.clone()]);
    let sums = vmap(|batch| vmap(|line: Line<_>| line.slope.sum() + line.offset, &batch), &twice);
    assert_eq!(sums.to_vec(), [3.5, 3.0, 2.0, 3.5, 3.0, 2.0]);
}

#[test]
fn loops_and_reductions_of_structs() {
    let batch = lines();
    let (last, all) = scan(line([0.0, 0.0], 0.0), &batch, 3, |before, line| {
        let next = Line { slope: before.slope + line.slope, offset: before.offset + line.offset, name: line.name };
        (next.clone(), next)
    });
    assert_eq!((last.slope.to_vec(), last.offset.item()), (vec![0.0, 6.0], 2.5));
    assert_eq!(vmap(|line: Line<_>| line.offset, &all).to_vec(), [0.5, 2.5, 2.5]);
    let sum = reduce(line([0.0, 0.0], 0.0), &batch, |a, b| Line {
        slope: a.slope + b.slope,
        offset: a.offset + b.offset,
        name: a.name,
    });
    assert_eq!((sum.slope.to_vec(), sum.offset.item()), (vec![0.0, 6.0], 2.5));
}

#[test]
fn batches_of_directions_are_of_structs() {
    let (point, x) = (line([1.0, 2.0], 0.5), v(&[2.0, -1.0]));
    let (value, along) = jvp_batch(loss, (&point, &x), &lines());
    assert_eq!((value.item(), along.to_vec()), (0.25, vec![0.5, 1.0, -5.0]));
    let (_, pullback) = vjp_batch(loss, (&point, &x));
    let gradients = pullback(&v(&[1.0, 2.0]));
    assert_eq!(vmap(|line: Line<_>| line.slope, &gradients).to_vec(), [2.0, -1.0, 4.0, -2.0]);
}

#[test]
fn trees_that_differ_are_not_stacked() {
    let here = file!();
    let text = panic_of(|| stack_trees(&[v(&[1.0]), v(&[1.0, 2.0])]));
    assert!(text.starts_with("stack_trees: ") && text.contains("[1]") && text.contains(here), "{text}");
    let text = panic_of(|| stack_trees::<C, Line<C>>(&[]));
    assert!(text.starts_with("stack_trees: ") && text.contains(here), "{text}");
    let both = (v(&[1.0]), v(&[1.0, 2.0]));
    let staged = stage(|both| unstack_trees(both).into_iter().fold(scalar(0.0), |sum, (a, b)| sum + a * b), &both);
    assert!(staged.unwrap_err().to_string().starts_with("unstack_trees: "));
    let text = panic_of(|| unstack_trees(&both));
    assert!(text.starts_with("unstack_trees: ") && text.contains("[2]") && text.contains(here), "{text}");
}

#[test]
fn second_derivatives_by_structs() {
    let (point, x) = (line([1.0, 2.0], 0.5), v(&[2.0, -1.0]));
    // loss = r², with r' = (x, 1): the Hessian is 2 r' r'ᵀ.
    let moved = hvp(loss, (&point, &x), &line([1.0, 0.0], 3.0));
    assert_eq!((moved.slope.to_vec(), moved.offset.item()), (vec![20.0, -10.0], 10.0));
    let (left, right) = (v(&[1.0, 2.0]), v(&[3.0, 5.0]));
    let (a, b) = hvp(|(a, b)| (a * b * b).sum(), &(left.clone(), right.clone()), &(v(&[1.0, 0.0]), v(&[0.0, 1.0])));
    assert_eq!((a.to_vec(), b.to_vec()), (vec![0.0, 10.0], vec![6.0, 4.0]));
    // By the first of two arguments.
    let second = hessian(|(a, b)| (a * a * b).sum(), (&left, &right));
    assert_eq!(second.to_vec(), [6.0, 0.0, 0.0, 10.0]);
    for jacobian in [jacfwd(|(a, b)| a * b, (&left, &right)), jacrev(|(a, b)| a * b, (&left, &right))] {
        assert_eq!(jacobian.to_vec(), [3.0, 0.0, 0.0, 5.0]);
    }
    let staged = stage(|(line, x, along)| hvp(loss, (line, x), along), (&point, &x, &point)).unwrap();
    assert_eq!(staged.call((&point, &x, &point)).unwrap().leaves(), hvp(loss, (&point, &x), &point).leaves());
    let text = panic_of(|| hvp(|x| x.sum(), &left, &v(&[1.0])));
    assert!(text.starts_with("hvp: ") && text.contains(file!()), "{text}");
}

#[test]
fn trees_are_vectors() {
    let (point, x) = (line([1.0, 2.0], 0.5), v(&[2.0, -1.0]));
    let (vector, unravel): (Vector<C, f64>, _) = ravel(&point);
    assert_eq!((vector.to_vec(), unravel.size()), (vec![1.0, 2.0, 0.5], 3));
    assert_eq!(unravel.tree(&vector).leaves(), point.leaves());
    let second = hessian(|(vector, x)| loss(&(unravel.tree(vector), x.clone())), (&vector, &x));
    assert_eq!(second.to_vec(), [8.0, -4.0, 4.0, -4.0, 2.0, -2.0, 4.0, -2.0, 2.0]);
    // Floats of both precisions, an empty tree, and a matrix.
    let mixed = (scalar::<C, f32>(0.5), Matrix::<C, f64>::from([[1.0, 2.0], [3.0, 4.0]]));
    let (vector, unravel): (Vector<C, f64>, _) = ravel(&mixed);
    assert_eq!(vector.to_vec(), [0.5, 1.0, 2.0, 3.0, 4.0]);
    assert_eq!(unravel.tree(&vector), mixed);
    let (nothing, unravel): (Vector<C, f32>, _) = ravel(&());
    assert_eq!(nothing.len(), 0);
    unravel.tree(&nothing);
    // Inside of a staged function.
    let doubled = stage(
        |line: &Line<_>| {
            let (vector, unravel): (Vector<_, f64>, _) = ravel(line);
            unravel.tree(&(vector * 2.0))
        },
        &point,
    );
    assert_eq!(doubled.unwrap().call(&point).unwrap().slope.to_vec(), [2.0, 4.0]);
    let text = panic_of(|| ravel::<C, f64, _>(&(v(&[1.0]), scalar::<C, i64>(1))));
    assert!(text.starts_with("ravel: ") && text.contains("i64") && text.contains(file!()), "{text}");
    let (_, unravel): (Vector<C, f64>, _) = ravel(&point);
    let text = panic_of(|| unravel.tree(&v(&[1.0])).slope);
    assert!(text.starts_with("tree: ") && text.contains("3") && text.contains(file!()), "{text}");
}
