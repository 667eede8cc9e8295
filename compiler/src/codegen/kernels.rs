//! The kernels of a program, each distinct one once.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::graph::{Dim, SymbolId};
use crate::loops::{Action, Expr, Kernel, Program, Step};

/// Kernels equal but for names of symbols, and who uses them.
#[derive(Debug, Default)]
pub struct KernelSet {
    /// The distinct kernels, over symbols numbered in order of first use.
    pub kernels: Vec<Kernel>,
    /// How many symbols each takes.
    pub symbol_counts: Vec<usize>,
    /// The node that each comes from, the first of several, as the program's labels describe it.
    pub nodes: Vec<String>,
    uses: HashMap<*const Kernel, (usize, Vec<SymbolId>)>,
}

impl KernelSet {
    /// Collects the kernels of all steps.
    pub fn of(program: &Program) -> Self {
        let mut set = Self::default();
        let mut index = HashMap::new();
        set.collect(&program.steps, &program.labels, &mut index);
        set
    }

    fn collect(&mut self, steps: &[Step], labels: &[String], index: &mut HashMap<Kernel, usize>) {
        for step in steps {
            match &step.action {
                Action::Launch { kernel, .. } => {
                    if self.uses.contains_key(&Arc::as_ptr(kernel)) {
                        continue;
                    }
                    let (canonical, symbols) = canonical(kernel);
                    let number = *index.entry(canonical.clone()).or_insert_with(|| {
                        self.symbol_counts.push(symbols.len());
                        self.nodes.push(labels.get(step.label as usize).cloned().unwrap_or_default());
                        let name = kernel.name.clone();
                        self.kernels.push(Kernel { name, ..canonical });
                        self.kernels.len() - 1
                    });
                    self.uses.insert(Arc::as_ptr(kernel), (number, symbols));
                }
                Action::If { then, otherwise, .. } => {
                    self.collect(then, labels, index);
                    self.collect(otherwise, labels, index);
                }
                Action::Loop { body, .. } => self.collect(body, labels, index),
                _ => {}
            }
        }
    }

    /// The distinct kernel that a launch runs, and the program's symbols that it takes, in order.
    pub fn use_of(&self, kernel: &Arc<Kernel>) -> (usize, &[SymbolId]) {
        let (number, symbols) = &self.uses[&Arc::as_ptr(kernel)];
        (*number, symbols)
    }
}

/// The kernel without name and over symbols numbered by first use, and the original symbols in that order.
fn canonical(kernel: &Kernel) -> (Kernel, Vec<SymbolId>) {
    let mut order = BTreeMap::new();
    let mut symbols = Vec::new();
    let exprs = kernel.exprs.iter().filter_map(|expr| if let Expr::Dim(dim) = expr { Some(dim) } else { None });
    let dims = kernel.parameters.iter().flat_map(|parameter| &parameter.shape).chain(&kernel.axes).chain(exprs);
    for dim in dims {
        for symbol in dim.symbols() {
            order.entry(symbol).or_insert_with(|| {
                symbols.push(symbol);
                numbered(symbol, symbols.len() - 1)
            });
        }
    }
    let mut result = kernel.clone();
    result.name.clear();
    if !symbols.is_empty() {
        let rename = |dim: &mut Dim| *dim = dim.substitute(&|symbol| order.get(&symbol).map(|&new| Dim::symbol(new)));
        result.parameters.iter_mut().flat_map(|parameter| &mut parameter.shape).for_each(rename);
        result.axes.iter_mut().for_each(rename);
        result.exprs.iter_mut().for_each(|expr| {
            if let Expr::Dim(dim) = expr {
                rename(dim);
            }
        });
    }
    (result, symbols)
}

/// The symbol number `number` with the bounds of `like`.
fn numbered(like: SymbolId, number: usize) -> SymbolId {
    SymbolId((like.0 - like.index() as u32) + number as u32)
}

/// The symbols of a canonical kernel in order: what its code expects to be passed.
pub fn kernel_symbols(kernel: &Kernel, count: usize) -> Vec<SymbolId> {
    let mut symbols: Vec<SymbolId> = kernel.symbols().into_iter().collect();
    symbols.sort_by_key(|symbol| symbol.index());
    debug_assert_eq!(symbols.len(), count);
    symbols
}
