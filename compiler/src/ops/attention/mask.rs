//! Which keys a query attends to, and what is added to their scores.

use super::heads::HeadShape;
use crate::graph::{CompareOperator, Dim, ElementType};
use crate::loops::{CompareOp, ExprId, Scalar, View};
use crate::ops::{Lower, Nest, OperatorError, Result, check_broadcast};

/// The mask of a node.
pub struct Mask {
    mask: Option<View>,
    valid: Option<View>,
    offset: Dim,
    length: Dim,
    is_causal: bool,
    left: i64,
    right: i64,
}

impl Mask {
    /// Reads the node: `past` earlier keys, `total` keys altogether.
    pub fn new(ctx: &mut Lower<'_, '_>, query: &HeadShape, past: Option<&Dim>, total: &Dim) -> Result<Self> {
        let (mask, valid) = (ctx.optional_input(3)?, ctx.optional_input(6)?);
        let (left, right) = (ctx.node.int_or("left_window_size", -1)?, ctx.node.int_or("right_window_size", -1)?);
        if let Some(mask) = &mask {
            let (rank, element) = (mask.shape.len(), mask.element);
            if rank == 0 || rank > 4 || !(element == ElementType::Bool || element.is_float()) {
                return Err(OperatorError::new(format!(
                    "the mask is of rank {rank} and type {element}, expected 1 to 4 and bool or a float type"
                )));
            }
            let scores = [query.batch.clone(), query.heads.clone(), query.length.clone()];
            check_broadcast(ctx, &mask.shape[..rank - 1], &scores)?;
        }
        if let Some(valid) = &valid {
            if valid.shape.len() != 1 || past.is_some() {
                return Err(OperatorError::new("`nonpad_kv_seqlen` must be a vector, and come without past keys"));
            }
            let fits = valid.shape[0].compare(CompareOperator::Equal, &query.batch);
            ctx.check(fits, "`nonpad_kv_seqlen` has not one element for each member of the batch")?;
        }
        let _ = total;
        let is_causal = ctx.node.flag_or("is_causal", false)?;
        let offset = past.cloned().unwrap_or(Dim::ZERO);
        Ok(Self { mask, valid, offset, length: query.length.clone(), is_causal, left, right })
    }

    /// `score` of the query and key at a position, with the mask's value added; minus infinity where the key is masked.
    pub fn apply(&self, nest: &mut Nest, score: ExprId, at: &[ExprId], extents: &[Dim]) -> ExprId {
        let &[batch, _, query, key] = at else { return score };
        let element = nest.type_of(score);
        let lowest = nest.float(element, f64::NEG_INFINITY);
        let mut score = score;
        let mut conditions = Vec::new();
        let valid = self.valid.as_ref().map(|view| {
            let parameter = nest.read(view);
            let valid = nest.load(parameter, &[batch]);
            nest.cast(ElementType::I64, valid)
        });
        let mut position = None;
        if self.is_causal || self.left >= 0 || self.right >= 0 {
            let offset = match valid {
                Some(valid) => {
                    let length = nest.dim(&self.length);
                    nest.sub(valid, length)
                }
                None => nest.dim(&self.offset),
            };
            position = Some(nest.add(query, offset));
        }
        if let Some(position) = position {
            if self.is_causal {
                conditions.push(nest.compare(CompareOp::Le, key, position));
            }
            if self.left >= 0 {
                let reach = nest.index(self.left);
                let first = nest.sub(position, reach);
                conditions.push(nest.compare(CompareOp::Ge, key, first));
            }
            if self.right >= 0 {
                let reach = nest.index(self.right);
                let last = nest.add(position, reach);
                conditions.push(nest.compare(CompareOp::Le, key, last));
            }
        }
        if let Some(valid) = valid {
            conditions.push(nest.compare(CompareOp::Lt, key, valid));
        }
        if let Some(mask) = &self.mask {
            let parameter = nest.read(mask);
            let (last, outer) = mask.shape.split_last().expect("the rank was checked");
            let mut index = nest.broadcast(outer, &at[..3], &extents[..3]);
            index.push(key);
            // A mask may be shorter than the keys; what it lacks is masked.
            let is_whole = last == &extents[3];
            let inside = nest.in_range(key, last);
            let value = match is_whole {
                true => nest.load(parameter, &index),
                false => nest.load_where(parameter, &index, inside, Scalar::lowest(mask.element)),
            };
            if mask.element == ElementType::Bool {
                conditions.push(value);
            } else {
                let value = nest.cast(element, value);
                score = nest.add(score, value);
                conditions.push(nest.compare(CompareOp::Ne, value, lowest));
            }
        }
        let allowed = conditions.into_iter().reduce(|a, b| nest.and(a, b));
        allowed.map_or(score, |allowed| nest.select(allowed, score, lowest))
    }
}
