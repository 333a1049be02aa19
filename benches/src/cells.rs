//! Eight cells of a long short-term memory: a step, and the step backwards.

use crate::functions::moderate_exp;
use crate::lanes::Lanes;
use crate::machine::Machine;

/// The gates forget, in, out and change and the new cells' hyperbolic tangents; the new cells; the new hidden values.
#[inline(always)]
pub(crate) fn forward<M: Machine>(
    parameters: &[Lanes; 8],
    input: Lanes,
    hidden: Lanes,
    cell: Lanes,
) -> ([Lanes; 5], Lanes, Lanes) {
    let (mut gates, mut cells, mut outputs) = ([[0.0; 8]; 5], [0.0; 8], [0.0; 8]);
    for lane in 0..8 {
        let (input, hidden) = (input[lane], hidden[lane]);
        let forget = 1.0 + moderate_exp::<M>(-M::fused(input, parameters[0][lane], parameters[4][lane]));
        let ingate = 1.0 + moderate_exp::<M>(-M::fused(hidden, parameters[1][lane], parameters[5][lane]));
        let outgate = 1.0 + moderate_exp::<M>(-M::fused(input, parameters[2][lane], parameters[6][lane]));
        let change = moderate_exp::<M>(-2.0 * M::fused(hidden, parameters[3][lane], parameters[7][lane]));
        let bottom = 1.0 + change;
        // One division for the four of them, which take longer than all these products.
        let (first, second) = (forget * ingate, outgate * bottom);
        let inverse = 1.0 / (first * second);
        let (first, second) = (inverse * second, inverse * first);
        let (forget, ingate) = (first * ingate, first * forget);
        let (outgate, change) = (second * bottom, second * outgate * (1.0 - change));
        let cell = M::fused(cell[lane], forget, ingate * change);
        let small = moderate_exp::<M>(-2.0 * cell);
        let tanh = (1.0 - small) / (1.0 + small);
        (gates[0][lane], gates[1][lane], gates[2][lane]) = (forget, ingate, outgate);
        (gates[3][lane], gates[4][lane]) = (change, tanh);
        (cells[lane], outputs[lane]) = (cell, outgate * tanh);
    }
    (gates, cells, outputs)
}

/// The inputs and intermediate values of a round.
pub(crate) struct Saved<'a> {
    pub(crate) gates: &'a [Lanes; 5],
    pub(crate) input: Lanes,
    pub(crate) hidden: Lanes,
    pub(crate) cell: Lanes,
}

/// The adjoints of a layer's input, its hidden values and its cells, from those that they become; and adds up the gradient.
#[inline(always)]
pub(crate) fn backward<M: Machine>(
    parameters: &[Lanes; 8],
    saved: Saved<'_>,
    adjoint: Lanes,
    cell_adjoint: Lanes,
    sums: &mut [Lanes; 8],
) -> (Lanes, Lanes, Lanes) {
    let (mut inputs, mut hiddens, mut cells) = ([0.0; 8], [0.0; 8], [0.0; 8]);
    let mut gradient = *sums;
    let gates = *saved.gates;
    for lane in 0..8 {
        let (forget, ingate, outgate) = (gates[0][lane], gates[1][lane], gates[2][lane]);
        let (change, tanh) = (gates[3][lane], gates[4][lane]);
        let (input, hidden, adjoint) = (saved.input[lane], saved.hidden[lane], adjoint[lane]);
        let cell = M::fused(adjoint * outgate, M::fused(-tanh, tanh, 1.0), cell_adjoint[lane]);
        let by_forget = cell * saved.cell[lane] * M::fused(-forget, forget, forget);
        let by_ingate = cell * change * M::fused(-ingate, ingate, ingate);
        let by_outgate = adjoint * tanh * M::fused(-outgate, outgate, outgate);
        let by_change = cell * ingate * M::fused(-change, change, 1.0);
        gradient[0][lane] = M::fused(by_forget, input, gradient[0][lane]);
        gradient[1][lane] = M::fused(by_ingate, hidden, gradient[1][lane]);
        gradient[2][lane] = M::fused(by_outgate, input, gradient[2][lane]);
        gradient[3][lane] = M::fused(by_change, hidden, gradient[3][lane]);
        gradient[4][lane] += by_forget;
        gradient[5][lane] += by_ingate;
        gradient[6][lane] += by_outgate;
        gradient[7][lane] += by_change;
        inputs[lane] = M::fused(by_forget, parameters[0][lane], by_outgate * parameters[2][lane]);
        hiddens[lane] = M::fused(by_ingate, parameters[1][lane], by_change * parameters[3][lane]);
        cells[lane] = cell * forget;
    }
    *sums = gradient;
    (inputs, hiddens, cells)
}
