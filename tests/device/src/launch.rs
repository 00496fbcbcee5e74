//! Launches an instance with the values of a case.

use tenon_device_cases::{StepCase, Value};

use crate::gpu::{Function, Geometry, Gpu, Memory};
use crate::instance::Instance;
use crate::template::{Size, Template};

/// Arguments on the device.
pub struct Held {
    /// Memory of each argument that has some, in the order of the template.
    pub memory: Vec<Option<Memory>>,
    /// The bytes of each argument.
    pub args: Vec<Vec<u64>>,
    /// The error word of the step, where there is one.
    pub error: Option<Memory>,
    _step: Vec<Memory>,
}

impl Held {
    /// Uploads the values of all arguments.
    pub fn new(gpu: &Gpu, template: &Template, values: &[(&'static str, Value)]) -> Result<Self, String> {
        Self::without(gpu, template, values, &[])
    }

    /// The same, but memory of the arguments `unwritten` is only allocated: a tool that knows what was written sees who reads it.
    pub fn without(
        gpu: &Gpu,
        template: &Template,
        values: &[(&'static str, Value)],
        unwritten: &[String],
    ) -> Result<Self, String> {
        if let Some((stranger, _)) = values.iter().find(|(name, _)| !template.args.iter().any(|a| a.name == *name)) {
            return Err(format!("{} has no argument `{stranger}`", template.name));
        }
        let mut held = Self { memory: Vec::new(), args: Vec::new(), error: None, _step: Vec::new() };
        for arg in &template.args {
            let value = values.iter().find(|(name, _)| *name == arg.name).map(|(_, value)| value);
            let value = value.ok_or_else(|| format!("{}: the case has no `{}`", template.name, arg.name))?;
            let is_pointer = arg.ty.ends_with('*');
            let memory = match value {
                _ if unwritten.contains(&arg.name) => value.bytes().map(|bytes| gpu.unwritten(bytes)).transpose()?,
                Value::F32(v) => Some(gpu.upload(&bytes(v, |x| x.to_le_bytes()))?),
                Value::Bf16(v) => Some(gpu.upload(&bytes(v, |x| x.to_le_bytes()))?),
                Value::I32(v) => Some(gpu.upload(&bytes(v, |x| x.to_le_bytes()))?),
                Value::U32(v) => Some(gpu.upload(&bytes(v, |x| x.to_le_bytes()))?),
                Value::Bytes(v) => Some(gpu.upload(v)?),
                Value::Random(n) => Some(gpu.pattern(*n)?),
                Value::Zeros(n) => Some(gpu.zeros(*n)?),
                Value::Null | Value::Int(_) | Value::Float(_) | Value::Step(_) => None,
            };
            let word = match (value, &memory) {
                (_, Some(memory)) if is_pointer => vec![memory.address()],
                (Value::Null, _) if is_pointer => vec![0],
                (Value::Int(n), _) if arg.ty == "int" => vec![u64::from(*n as i32 as u32)],
                (Value::Float(x), _) if arg.ty == "float" => vec![u64::from(x.to_bits())],
                (Value::Step(step), _) if arg.ty == "Step" => held.step(gpu, step)?,
                _ => return Err(format!("{}: `{}` is a {}, and the case gives {value:?}", template.name, arg.name, arg.ty)),
            };
            held.memory.push(memory);
            held.args.push(word);
        }
        gpu.settle()?;
        Ok(held)
    }

    /// The words of `Step`, in the order of include/step.cuh.
    fn step(&mut self, gpu: &Gpu, step: &StepCase) -> Result<Vec<u64>, String> {
        let ints = |v: Vec<usize>| -> Vec<i32> { v.into_iter().map(|x| x as i32).collect() };
        let (prefill, mut decode) = (ints(step.prefill()), ints(step.decode()));
        let counts = [step.tokens(), step.spans.len(), step.logit_rows.len(), prefill.len(), decode.len(), 0, 0, 0];
        let rows: Vec<Option<(usize, usize)>> = (0..step.rows).map(|row| step.row(row)).collect();
        let positions = rows.iter().map(|r| r.map_or(0, |(_, position)| position as i32)).collect();
        let sequence = rows.iter().map(|r| r.map_or(-1, |(sequence, _)| sequence as i32)).collect();
        // As a graph of a larger bucket has them.
        decode.resize(decode.len() + step.rows - step.tokens(), -1);
        let arrays: [Vec<i32>; 12] = [
            ints(counts.to_vec()),
            step.token_ids.clone(),
            positions,
            sequence,
            ints(step.first()),
            ints(step.spans.iter().map(|(_, tokens)| *tokens).collect()),
            ints(step.spans.iter().map(|(start, _)| *start).collect()),
            step.slots.clone(),
            step.table.clone(),
            prefill,
            decode,
            step.logit_rows.clone(),
        ];
        let mut words = Vec::new();
        for array in arrays {
            let memory = gpu.upload(&bytes(&array, |x| x.to_le_bytes()))?;
            words.push(memory.address());
            self._step.push(memory);
        }
        let error = gpu.zeros(4)?;
        words.push(error.address());
        self.error = Some(error);
        let pair = |a: usize, b: usize| a as u64 | (b as u64) << 32;
        words.push(pair(step.page_size, step.table_stride));
        words.push(pair(step.pages, step.slots_of_pool));
        Ok(words)
    }
}

/// Grid, block and shared memory of an instance at the dimensions of a launch.
pub fn geometry(template: &Template, instance: &Instance, dims: &[(&'static str, u64)]) -> Result<Geometry, String> {
    let axes = |sizes: &[Size]| -> Result<[u32; 3], String> {
        let mut axes = [1; 3];
        for (axis, size) in axes.iter_mut().zip(sizes) {
            *axis = size.whole(&instance.params, dims)?;
        }
        Ok(axes)
    };
    Ok(Geometry {
        grid: axes(&template.launch.grid)?,
        block: axes(&template.launch.block)?,
        shared_bytes: template.launch.shared_bytes.whole(&instance.params, dims)?,
        overlaps: template.launch.overlaps,
    })
}

/// Launches once and waits.
pub fn run(gpu: &Gpu, function: &Function, geometry: Geometry, held: &mut Held) -> Result<(), String> {
    gpu.launch(function, geometry, &mut held.args)?;
    gpu.wait()
}

fn bytes<T: Copy, const N: usize>(values: &[T], of: impl Fn(T) -> [u8; N]) -> Vec<u8> {
    values.iter().flat_map(|x| of(*x)).collect()
}
