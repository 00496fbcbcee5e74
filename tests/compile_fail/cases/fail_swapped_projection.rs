//! An output projection with its dimensions swapped.

use tenon_core::cpu::Cpu;
use tenon_core::linear::Linear;
use tenon_core::rows::Rows;

fn down(cpu: &Cpu, down_proj: &Linear<1536, 576>, gate: &Rows<f32, 1536>, x: &mut Rows<f32, 576>) {
    down_proj.forward_add::<4>(cpu, gate, x);
}

fn main() {}
