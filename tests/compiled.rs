//! Calls of compiled programs that write into existing arrays, update them, or need more memory than there is.

use deltaray::concrete::Array;
use deltaray::derivative::Compiled;
use deltaray::engine::cpu::Cpu;
use deltaray::prelude::*;
use deltaray::tensor::duplicate;
use deltaray::{Error, Result};

type C = Concrete;
type V<A> = Vector<A, f64>;
type S<A> = Scalar<A, f64>;

fn v(elements: &[f64]) -> V<C> {
    Vector::from_slice(elements)
}

fn one() -> Cpu {
    Cpu::default().threads(1)
}

/// Where the elements of a vector are.
fn address(x: &V<C>) -> *const f64 {
    let Array::F64(data) = x.array() else { panic!("floats") };
    data.as_slice().expect("a buffer").as_ptr()
}

#[derive(Tree)]
struct Pair<A: Algebra> {
    sum: V<A>,
    parts: Vec<V<A>>,
}

fn pair<A: Algebra>((x, y): &(V<A>, V<A>)) -> Pair<A> {
    Pair { sum: x + y, parts: vec![x * 2.0, y.slice(0, 1..)] }
}

fn empty_pair(sizes: [usize; 3]) -> Pair<C> {
    Pair { sum: zeros(sizes[0]), parts: vec![zeros(sizes[1]), zeros(sizes[2])] }
}

#[test]
fn results_go_where_the_output_is() {
    let (x, y) = (v(&[1.0, 2.0, 3.0]), v(&[10.0, 20.0, 30.0]));
    let program = stage(pair, (&x, &y)).unwrap().compile(one()).unwrap();
    let mut output = empty_pair([3, 3, 2]);
    program.call_into((&x, &y), &mut output).unwrap();
    let places = [address(&output.sum), address(&output.parts[0]), address(&output.parts[1])];
    program.call_into((&y, &x), &mut output).unwrap();
    assert_eq!(output.sum, v(&[11.0, 22.0, 33.0]));
    assert_eq!(output.parts, [v(&[20.0, 40.0, 60.0]), v(&[2.0, 3.0])]);
    assert_eq!([address(&output.sum), address(&output.parts[0]), address(&output.parts[1])], places);
}

#[test]
fn outputs_that_share_storage_get_their_own() {
    let (x, y) = (v(&[1.0, 2.0, 3.0]), v(&[10.0, 20.0, 30.0]));
    let program = stage(pair, (&x, &y)).unwrap().compile(one()).unwrap();
    // An argument, another output and a bystander all share storage with the output.
    let bystander = v(&[7.0, 8.0, 9.0]);
    let mut output = Pair { sum: x.clone(), parts: vec![bystander.clone(), y.slice(0, ..2)] };
    program.call_into((&x, &y), &mut output).unwrap();
    assert_eq!(output.sum, v(&[11.0, 22.0, 33.0]));
    assert_eq!(output.parts, [v(&[2.0, 4.0, 6.0]), v(&[20.0, 30.0])]);
    assert_eq!((x, y), (v(&[1.0, 2.0, 3.0]), v(&[10.0, 20.0, 30.0])));
    assert_eq!(bystander, v(&[7.0, 8.0, 9.0]));

    let shared = v(&[0.0; 3]);
    let mut output = Pair { sum: shared.clone(), parts: vec![shared, zeros(2)] };
    program.call_into((&bystander, &bystander), &mut output).unwrap();
    assert_eq!(output.sum, v(&[14.0, 16.0, 18.0]));
    assert_eq!(output.parts[0], v(&[14.0, 16.0, 18.0]));
    assert_eq!(output.parts[1], v(&[8.0, 9.0]));
}

/// The message of an error, without the line of this file at its end.
fn said(error: &Error) -> String {
    let text = error.to_string();
    let (said, place) = text.rsplit_once(" (at ").expect("a line");
    assert!(place.starts_with(file!()), "{text}");
    said.to_string()
}

#[test]
fn what_does_not_fit_is_named_and_nothing_is_written() {
    let x = v(&[1.0, 2.0, 3.0]);
    let program = stage(pair, (&x, &x)).unwrap().compile(one()).unwrap();
    let problem = |arguments: (&V<C>, &V<C>), output: &mut Pair<C>| -> String {
        let before = format!("{:?}", output.leaves());
        let error = program.call_into(arguments, output).expect_err("it does not fit");
        assert_eq!(format!("{:?}", output.leaves()), before);
        said(&error)
    };
    let text = problem((&x, &x), &mut empty_pair([3, 3, 5]));
    assert_eq!(text, "output `parts.1`: the program results in f64[2], but f64[5] was given to write to");
    let mut output = empty_pair([3, 3, 2]);
    output.parts.push(zeros(1));
    let text = problem((&x, &x), &mut output);
    assert_eq!(text, "the output differs from the program's results: `parts`: 3 parts instead of 2");
    let text = problem((&x, &v(&[1.0])), &mut empty_pair([3, 3, 2]));
    assert_eq!(text, "argument 1: the program was staged for f64[3], but f64[1] was given");

    let program = stage(|x: &V<_>| (x * 1.0).into_dyn(), &x).unwrap().compile(one()).unwrap();
    let mut output: TensorD<C, f64> = zeros::<C, f64, _>((3, 1)).into_dyn();
    let error = program.call_into(&x, &mut output).unwrap_err();
    assert!(matches!(&error, Error::Output { path, .. } if path.is_empty()), "{error}");
    // The array behind a tree may be of another element type than its own, where a visitor put one.
    let mut output: V<C> = zeros(3);
    output.visit_mut(&mut |array| *array = Array::from_vec(&[3], vec![1i64, 2, 3]));
    let program = stage(|x: &V<_>| x * 2.0, &x).unwrap().compile(one()).unwrap();
    let error = said(&program.call_into(&x, &mut output).unwrap_err());
    assert_eq!(error, "output: the program results in f64[3], but i64[3] was given to write to");
}

#[test]
fn outputs_of_every_type_and_shape() {
    #[allow(clippy::type_complexity)]
    fn all<A: Algebra>(
        x: &V<A>,
    ) -> (S<A>, Vector<A, bool>, (Matrix<A, i64>, Vector<A, f32>), V<A>, V<A>, Scalar<A, i64>) {
        let outer = x.insert_axis(1) * x;
        (x.sum(), x.gt(0.0), (outer.cast(), x.cast()), x.slice(0, ..0), x.clone(), scalar(3))
    }
    let x = v(&[1.5, -2.0, 0.0]);
    let program = stage(all, &x).unwrap().compile(one()).unwrap();
    let mut output = (scalar(9.0), zeros(3), (zeros((3, 3)), zeros(3)), zeros(0), zeros(3), scalar(0));
    for x in [x, v(&[1.0, 2.0, 3.0])] {
        program.call_into(&x, &mut output).unwrap();
        assert_eq!(output, all(&x));
    }
    let unit = stage(|_: &()| (), &()).unwrap().compile(one()).unwrap();
    unit.call_into(&(), &mut ()).unwrap();
    unit.update(&mut (), ()).unwrap();
}

/// Updates a state some times, and compares with calls.
fn check_updates<S: Family>(program: &Compiled<S, S>, state: &S::At<C>, in_place: Option<&[bool]>) {
    let copy = |state: &S::At<C>| {
        let leaves: Vec<Array> =
            state.leaves().iter().map(|leaf| Array::from_vec(leaf.shape(), leaf.to_vec::<f64>().unwrap())).collect();
        S::rebuild::<C, C>(state, &mut leaves.into_iter())
    };
    let places = |state: &S::At<C>| -> Vec<*const f64> {
        let place = |leaf: &Array| match leaf {
            Array::F64(data) => data.as_slice().map_or(std::ptr::null(), <[f64]>::as_ptr),
            _ => panic!("floats"),
        };
        state.leaves().iter().map(place).collect()
    };
    let (mut updated, mut expected) = (copy(state), copy(state));
    let keep = duplicate(state);
    let values =
        |state: &S::At<C>| -> Vec<Vec<f64>> { state.leaves().iter().map(|leaf| leaf.to_vec().unwrap()).collect() };
    let before = values(&keep);
    for step in 0..5 {
        let at = places(&updated);
        program.update(&mut updated, ()).unwrap();
        expected = program.call(&expected).unwrap();
        assert_eq!(values(&updated), values(&expected), "step {step}");
        if let Some(in_place) = in_place {
            let stayed: Vec<bool> = at.iter().zip(places(&updated)).map(|(a, b)| *a == b).collect();
            assert_eq!(stayed, in_place, "step {step}");
        }
    }
    // A state that shares its storage is not written over.
    let mut shared = duplicate(&keep);
    program.update(&mut shared, ()).unwrap();
    assert_eq!(values(&keep), before);
    assert_eq!(values(&shared), values(&program.call(&keep).unwrap()));
}

/// None can be written where it is read, and each needs a place of its own meanwhile.
#[test]
fn numbers_that_change_places_are_updated() {
    let numbers: Vec<S<C>> = (0..9).map(|at| scalar(f64::from(at))).collect();
    let turned = |x: &Vec<S<_>>| -> Vec<S<_>> { (0..9).map(|at| x[(at + 1) % 9].clone()).collect() };
    check_updates(&stage(turned, &numbers).unwrap().compile(one()).unwrap(), &numbers, None);
}

#[test]
fn updates_are_right_whatever_is_read_while_it_is_written() {
    let x = v(&[1.0, 2.0, 3.0, 4.0, 5.0]);
    macro_rules! check {
        ($f:expr, $in_place:expr) => {{
            let program = stage($f, &x).unwrap().compile(one()).unwrap();
            check_updates(&program, &x, $in_place);
        }};
    }
    check!(|x: &V<_>| x * 0.5 + 1.0, Some(&[true]));
    check!(|x: &V<_>| x.reverse(0), Some(&[false]));
    check!(|x: &V<_>| x.cumsum(0), Some(&[false]));
    check!(|x: &V<_>| x - x.mean(), Some(&[true]));
    check!(|x: &V<_>| x + x.reverse(0), Some(&[false]));
    check!(|x: &V<_>| x.clone(), None);
    check!(|x: &V<_>| iterate(x.clone(), 3, |x: V<_>| x.reverse(0) * 1.5), None);
    check!(|x: &V<_>| full(x.len(), 3.0), None);

    let pair = (v(&[1.0, 2.0, 3.0]), v(&[-1.0, 0.5, 2.0]));
    macro_rules! check_pair {
        ($f:expr, $in_place:expr) => {{
            let program = stage($f, &pair).unwrap().compile(one()).unwrap();
            check_updates(&program, &pair, $in_place);
        }};
    }
    // Each must read the other's old value; updating them in turn would break that.
    check_pair!(|(a, b): &(V<_>, V<_>)| (b.clone(), a.clone()), Some(&[false, false]));
    check_pair!(|(a, b): &(V<_>, V<_>)| (a + b, a - b), Some(&[false, false]));
    check_pair!(|(a, b): &(V<_>, V<_>)| (a * 0.5, b * 0.25), Some(&[true, true]));
    // Momentum: the second is read for its own next value and for the first's.
    check_pair!(|(a, b): &(V<_>, V<_>)| (a - b * 0.1, b * 0.9), Some(&[true, false]));
    check_pair!(|(a, b): &(V<_>, V<_>)| (a + b.sum(), b + a.reverse(0)), None);
    check_pair!(|(_, b): &(V<_>, V<_>)| (b * 2.0, b * 2.0), None);
    check_pair!(|(a, _): &(V<_>, V<_>)| (a.sin(), a.cos()), None);
}

#[test]
fn updates_of_scalars_and_with_more_arguments() {
    type State<A> = (V<A>, S<A>);
    fn step<A: Algebra>(((w, count), x, rate): &(State<A>, V<A>, S<A>)) -> (State<A>, V<A>) {
        ((w - rate * (w - x), count + 1.0), x * count)
    }
    let (x, rate) = (v(&[4.0, 8.0]), scalar(0.5));
    let mut state: State<C> = (v(&[0.0, 0.0]), scalar(0.0));
    let program = stage(step, (&state, &x, &rate)).unwrap().compile(one()).unwrap();
    let mut others = zeros(2);
    let place = address(&state.0);
    for _ in 0..3 {
        program.update_with(&mut state, (&x, &rate), &mut others).unwrap();
    }
    assert_eq!((state.0.to_vec(), state.1.item(), others.to_vec()), (vec![3.5, 7.0], 3.0, vec![8.0, 16.0]));
    assert_eq!(address(&state.0), place);
    // An argument that shares the state's storage keeps its elements.
    let target = state.0.clone();
    program.update_with(&mut state, (&target, &rate), &mut others).unwrap();
    assert_eq!((target.to_vec(), state.0.to_vec()), (vec![3.5, 7.0], vec![3.5, 7.0]));
    let error = said(&program.update_with(&mut (zeros(3), scalar(0.0)), (&x, &rate), &mut others).unwrap_err());
    assert_eq!(error, "argument 0, `0`: the program was staged for f64[2], but f64[3] was given");
    let error = said(&program.update_with(&mut state, (&x, &rate), &mut zeros(3)).unwrap_err());
    assert_eq!(error, "output `1`: the program results in f64[2], but f64[3] was given to write to");
    let shrinking = stage(|x: &V<_>| x.slice(0, 1..), &x).unwrap().compile(one()).unwrap();
    let error = said(&shrinking.update(&mut v(&[1.0, 2.0]), ()).unwrap_err());
    assert_eq!(error, "output: the program results in f64[1], but f64[2] was given to write to");
}

#[test]
fn updates_from_several_threads_keep_to_their_own_state() {
    let start = v(&[1.0, 2.0, 3.0, 4.0]);
    let program = stage(|x: &V<_>| x.reverse(0) * 1.5, &start).unwrap().compile(one()).unwrap();
    let expected = (0..20).fold(start.clone(), |x, _| program.call(&x).unwrap());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..20 {
                    let mut state = v(&[1.0, 2.0, 3.0, 4.0]);
                    (0..20).for_each(|_| program.update(&mut state, ()).unwrap());
                    assert_eq!(state, expected);
                }
            });
        }
    });
}

#[cfg(target_os = "linux")]
/// Whether a result is the error that a program needs so many bytes, and little more for other things.
fn needs(bytes: u128, result: Result<()>) -> bool {
    match result {
        Err(Error::TooLarge { bytes: stated, ref place, .. }) => {
            assert!(place.contains("compiled.rs:"), "{place}");
            (bytes..bytes + (1 << 20)).contains(&stated)
        }
        Err(error) => panic!("{error}"),
        Ok(()) => panic!("no machine has so much memory"),
    }
}

#[test]
#[cfg(target_os = "linux")]
fn programs_larger_than_the_machine_are_refused_before_they_begin() {
    const MANY: usize = 1 << 46;
    let many: V<C> = zeros(MANY);
    // A result.
    let program = stage(|x: &S<_>| iota::<_>(MANY).cast::<f64>() * x, &scalar(1.0)).unwrap();
    assert!(needs(1 << 49, program.compile(one()).map(drop)));
    let error = program.compile(one()).unwrap_err().to_string();
    assert!(error.starts_with("compile: the program needs 5629499534"), "{error}");
    assert!(error.contains(" bytes of memory, but "), "{error}");
    // Memory of its own: a value that is stored since it is read backwards, twice.
    let program = stage(
        |x: &V<_>| {
            let y = x.cumsum(0);
            (&y * y.reverse(0)).sum()
        },
        &many,
    )
    .unwrap();
    assert!(needs(1 << 49, program.compile(one()).map(drop)));
    // An argument that is stored as one value, and would be written out.
    let program = stage(|x: &V<_>| x.sum(), &many).unwrap().compile(one()).unwrap();
    assert!(needs(1 << 49, program.call(&many).map(drop)));
    assert!(needs(1 << 49, program.call_into(&many, &mut scalar(0.0))));
    // Sizes that overflow, of all results together.
    let half: Tensor3<C, f64> = zeros((1 << 20, 1 << 20, 1 << 19));
    let program = stage(|x: &Tensor3<_, f64>| (x * 2.0, x + 1.0, x.exp()), &half).unwrap();
    assert!(needs(3 << 62, program.compile(one()).map(drop)));
    // Arrays that fit are accepted.
    let x = v(&[1.0, 2.0]);
    let program = stage(|x: &V<_>| x * 2.0, &x).unwrap().compile(one()).unwrap();
    program.call_into(&x, &mut zeros(2)).unwrap();
}
