//! The buffers of a running program.

use super::{Fault, Fuel, storage};
use crate::graph::{ElementType, SymbolId, Tensor, TensorData};
use crate::loops::{Buffer, BufferId, BufferKind, Program};

/// What fresh memory holds, so that a read of what nothing wrote shows.
const FRESH: u8 = 0xcd;

/// Contents of buffers; `None` before anything was written.
pub(super) struct Memory<'a> {
    program: &'a Program,
    contents: Vec<Option<Vec<u8>>>,
}

impl<'a> Memory<'a> {
    /// Inputs and constants.
    pub fn new(program: &'a Program, inputs: &[Tensor], fuel: &mut Fuel) -> Result<Self, Fault> {
        let mut contents = Vec::new();
        for (position, buffer) in program.buffers.iter().enumerate() {
            let tensor = match &buffer.kind {
                BufferKind::Input(input) => inputs.get(*input),
                BufferKind::Constant(tensor) => Some(tensor),
                _ => None,
            };
            let Some(tensor) = tensor else {
                contents.push(None);
                continue;
            };
            if matches!(tensor.data, TensorData::Strings(_)) {
                return Err(Fault::Invalid(format!("b{position} holds strings, which are not interpreted")));
            }
            fuel.spend(tensor.byte_len() as u64)?;
            contents.push(tensor.bytes().map(|bytes| bytes.to_vec()));
        }
        Ok(Self { program, contents })
    }

    fn describe(&self, id: BufferId) -> String {
        let buffer = self.program.buffer(id);
        let shape: Vec<String> =
            buffer.shape.iter().map(|dim| dim.display(&self.program.symbols).to_string()).collect();
        format!("b{}: {}[{}]", id.0, buffer.element, shape.join(", "))
    }

    fn slot(&mut self, id: BufferId) -> Result<&mut Option<Vec<u8>>, Fault> {
        self.contents.get_mut(id.0 as usize).ok_or_else(|| Fault::Invalid(format!("there is no buffer b{}", id.0)))
    }

    /// What was written.
    pub fn read(&self, id: BufferId) -> Result<&[u8], Fault> {
        match self.contents.get(id.0 as usize) {
            Some(Some(contents)) => Ok(contents),
            Some(None) => Err(Fault::Invalid(format!("{} is read before it is written", self.describe(id)))),
            None => Err(Fault::Invalid(format!("there is no buffer b{}", id.0))),
        }
    }

    /// Makes a buffer ready to be written: of the size that its shape has now, keeping contents of that size.
    pub fn prepare(
        &mut self,
        id: BufferId,
        symbols: &dyn Fn(SymbolId) -> Option<i64>,
        fuel: &mut Fuel,
    ) -> Result<(), Fault> {
        let program = self.program;
        self.slot(id)?;
        let buffer = program.buffer(id);
        self.writable(id, buffer)?;
        let count = buffer.len().evaluate(symbols);
        let count = count.map_err(|error| Fault::Invalid(format!("{}: {error}", self.describe(id))))?;
        let bytes = storage::bytes_of(buffer.element, count)
            .ok_or_else(|| Fault::Invalid(format!("{} has {count} elements", self.describe(id))))?;
        let slot = self.slot(id)?;
        if slot.as_ref().is_none_or(|contents| contents.len() != bytes) {
            fuel.spend(bytes as u64)?;
            *slot = Some(vec![FRESH; bytes]);
        }
        Ok(())
    }

    fn writable(&self, id: BufferId, buffer: &Buffer) -> Result<(), Fault> {
        match buffer.kind {
            BufferKind::Output(_) | BufferKind::Temporary => Ok(()),
            _ => Err(Fault::Invalid(format!("{} is written but is an input or a constant", self.describe(id)))),
        }
    }

    /// Takes the contents of the buffers, each of which must have been [prepared](Self::prepare) or written, and gives
    /// them back when `body` is done. A buffer given twice has one place.
    pub fn borrow(
        &mut self,
        ids: &[BufferId],
        body: impl FnOnce(&mut [Vec<u8>], &[usize]) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let mut places: Vec<BufferId> = Vec::new();
        let mut slots = Vec::new();
        for &id in ids {
            self.read(id)?;
            let place = places.iter().position(|&held| held == id).unwrap_or(places.len());
            if place == places.len() {
                places.push(id);
            }
            slots.push(place);
        }
        let mut taken = Vec::new();
        for &id in &places {
            taken.push(self.slot(id)?.take().unwrap_or_default());
        }
        let result = body(&mut taken, &slots);
        for (id, contents) in places.into_iter().zip(taken) {
            *self.slot(id)? = Some(contents);
        }
        result
    }

    /// Replaces the contents.
    pub fn write(&mut self, id: BufferId, contents: Vec<u8>) -> Result<(), Fault> {
        self.slot(id)?;
        self.writable(id, self.program.buffer(id))?;
        *self.slot(id)? = Some(contents);
        Ok(())
    }

    /// Moves contents from one buffer to another.
    pub fn relocate(&mut self, from: BufferId, to: BufferId) -> Result<(), Fault> {
        self.read(from)?;
        self.slot(to)?;
        if self.program.buffer(from).element != self.program.buffer(to).element {
            return Err(Fault::Invalid(format!("{} is moved to {}", self.describe(from), self.describe(to))));
        }
        let contents = self.slot(from)?.take().unwrap_or_default();
        self.write(to, contents)
    }

    /// Copies of a buffer's contents as a tensor of the given shape.
    pub fn tensor(&self, id: BufferId, element: ElementType, dims: Vec<i64>) -> Result<Tensor, Fault> {
        let contents = self.read(id)?;
        let count = dims.iter().try_fold(1i64, |count, &dim| count.checked_mul(dim));
        if count.and_then(|count| storage::bytes_of(element, count)) != Some(contents.len()) {
            return Err(Fault::Invalid(format!("{} holds {} bytes, not {dims:?}", self.describe(id), contents.len())));
        }
        Ok(Tensor { element, dims, data: TensorData::Bytes(contents.to_vec().into()) })
    }
}
