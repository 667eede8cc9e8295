//! Decodes branches, exits, barriers, and fences.

use super::Decoder;
use super::call::RETURN;
use super::modifiers::Modifiers;
use crate::error::Error;
use crate::operation::Operation;
use crate::statement::Operand;
use crate::types::Type;

impl Decoder<'_> {
    pub(super) fn control(&mut self, modifiers: &mut Modifiers<'_>, operands: &[Operand]) -> Result<(), Error> {
        match modifiers.name {
            "bra" => {
                modifiers.ignore(&["uni"]);
                let [Operand::Name(label)] = self.exactly(operands)? else { return self.error("expected a label") };
                self.branch(label);
            }
            "ret" => {
                modifiers.ignore(&["uni"]);
                if self.calls.len() > 1 { self.branch(RETURN) } else { self.step(Operation::Exit) }
            }
            "exit" => self.step(Operation::Exit),
            "trap" | "brkpt" => self.step(Operation::Trap),
            "bar" | "barrier" => return self.barrier(modifiers, operands),
            // One warp runs at a time, and every access takes effect at once.
            _ => {
                let order = ["cta", "cluster", "gpu", "sys", "gl", "acq_rel", "sc", "acquire", "release"];
                modifiers.ignore(&order);
                modifiers.ignore(&["global", "local", "L1", "L2", "u32"]);
                self.step(Operation::Nothing);
            }
        }
        Ok(())
    }

    fn barrier(&mut self, modifiers: &mut Modifiers<'_>, operands: &[Operand]) -> Result<(), Error> {
        modifiers.ignore(&["cta", "aligned"]);
        if modifiers.flag("warp") {
            modifiers.ignore(&["sync"]);
            let [members] = self.exactly(operands)?;
            let members = self.source(members, Type::B32)?;
            self.step(Operation::WarpBarrier { members });
            return Ok(());
        }
        let arrive = match modifiers.take(&["sync", "arrive"]) {
            Some(mode) => mode == "arrive",
            None => return Err(modifiers.error("this interpreter has .sync, .arrive and .warp.sync")),
        };
        let (id, threads) = match operands {
            [id] if !arrive => (id, None),
            [id, threads] => (id, Some(self.source(threads, Type::B32)?)),
            _ => return self.error("a barrier takes a number, and a count of threads when it only arrives"),
        };
        let id = self.source(id, Type::B32)?;
        self.step(Operation::Barrier { id, threads, arrive });
        Ok(())
    }
}
