//! Stub functions that generated code calls.

use std::collections::BTreeMap;

use cranelift_codegen::ir::{AbiParam, Signature, Type, types};
use cranelift_codegen::isa::CallConv;
use cranelift_module::{FuncId, Linkage, Module, ModuleResult};

/// Declared stub functions by symbol.
#[derive(Clone, Debug, Default)]
pub struct Routines {
    functions: BTreeMap<String, (FuncId, Signature)>,
}

impl Routines {
    /// Declares a function if it is not declared yet.
    pub fn declare(
        &mut self,
        module: &mut dyn Module,
        name: &str,
        parameters: &[Type],
        results: &[Type],
    ) -> ModuleResult<FuncId> {
        if let Some((id, _)) = self.functions.get(name) {
            return Ok(*id);
        }
        let signature = signature(module.isa().default_call_conv(), parameters, results);
        let id = module.declare_function(name, Linkage::Import, &signature)?;
        self.functions.insert(name.to_owned(), (id, signature));
        Ok(id)
    }

    /// The declaration of a function.
    pub fn get(&self, name: &str) -> Option<(FuncId, &Signature)> {
        self.functions.get(name).map(|(id, signature)| (*id, signature))
    }

    /// Declares a scalar math function: as many operands of `ty` as given, one result of it.
    pub fn declare_math(
        &mut self,
        module: &mut dyn Module,
        name: &str,
        ty: Type,
        operands: usize,
    ) -> ModuleResult<FuncId> {
        self.declare(module, name, &vec![ty; operands], &[ty])
    }
}

/// A signature of plain values.
pub fn signature(convention: CallConv, parameters: &[Type], results: &[Type]) -> Signature {
    let mut signature = Signature::new(convention);
    signature.params.extend(parameters.iter().copied().map(AbiParam::new));
    signature.returns.extend(results.iter().copied().map(AbiParam::new));
    signature
}

/// The type of addresses.
pub const POINTER: Type = types::I64;
