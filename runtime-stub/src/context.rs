//! Contexts: the memory of one caller at a time.

use core::ffi::{c_char, c_void};

use crate::abi::{Descriptor, Options, ParallelFor, Status};
use crate::memory;

/// Bytes of the message of the last failure.
const MESSAGE_BYTES: usize = 512;

/// More bytes than the options of any version have.
const GREATEST_OPTIONS: usize = 4096;

/// The memory of one caller of a model. Opaque to C.
#[derive(Debug)]
#[repr(C)]
pub struct Context {
    pub(crate) descriptor: *const Descriptor,
    pub(crate) frame: *mut i64,
    pub(crate) workspace: *mut c_void,
    pub(crate) workspace_bytes: u64,
    pub(crate) workspace_is_callers: bool,
    pub(crate) threads: u32,
    pub(crate) parallel_for: Option<ParallelFor>,
    pub(crate) parallel_user: *mut c_void,
    /// Newest of the blocks that the body allocated in this run.
    pub(crate) blocks: *mut memory::Block,
    message: [u8; MESSAGE_BYTES],
    message_length: usize,
}

/// The caller's options, of an older or newer version, as this version's struct: absent fields are 0. Nothing where
/// the caller sets a field that this version does not know, or the size makes no sense.
///
/// # Safety
/// `given` must be valid for its stated size.
unsafe fn known_options(given: *const Options) -> Option<Options> {
    // SAFETY: zeros are null pointers, an absent function and numbers; the size is the first field of every version, and
    // states how many bytes there are.
    unsafe {
        let mut options: Options = core::mem::zeroed();
        let size = given.cast::<usize>().read_unaligned();
        if !(size_of::<usize>()..=GREATEST_OPTIONS).contains(&size) {
            return None;
        }
        let known = size.min(size_of::<Options>());
        core::ptr::copy_nonoverlapping(given.cast::<u8>(), (&raw mut options).cast::<u8>(), known);
        let unknown = core::slice::from_raw_parts(given.cast::<u8>().add(known), size - known);
        (unknown.iter().all(|&byte| byte == 0) && options.reserved == 0).then_some(options)
    }
}

impl Context {
    /// Allocates a context and its frame.
    ///
    /// # Safety
    /// `descriptor` must be a generated descriptor; `options` must be null or valid for its stated size.
    pub(crate) unsafe fn create(descriptor: *const Descriptor, options: *const Options) -> Result<*mut Self, Status> {
        // SAFETY: the caller's promise.
        let words = unsafe { (*descriptor).frame_words } as usize;
        let header = size_of::<Self>().next_multiple_of(64);
        let memory = memory::allocate_zeroed(header + 8 * words).cast::<u8>();
        if memory.is_null() {
            return Err(Status::OutOfMemory);
        }
        let context = memory.cast::<Self>();
        // SAFETY: the block is zeroed, large enough, and aligned to 64 bytes; all fields are valid when zero.
        unsafe {
            (*context).descriptor = descriptor;
            (*context).frame = memory.add(header).cast();
            if !options.is_null() {
                let Some(options) = known_options(options) else {
                    memory::free(context.cast());
                    return Err(Status::VersionMismatch);
                };
                (*context).threads = options.threads;
                (*context).parallel_for = options.parallel_for;
                (*context).parallel_user = options.parallel_user;
                if !options.workspace.is_null() {
                    // The arena starts at the first multiple of 64 bytes.
                    let skip = (options.workspace as usize).wrapping_neg() % 64;
                    (*context).workspace = options.workspace.cast::<u8>().wrapping_add(skip).cast();
                    (*context).workspace_bytes = options.workspace_bytes.saturating_sub(skip as u64);
                    (*context).workspace_is_callers = true;
                }
            }
        }
        Ok(context)
    }

    /// Frees the context.
    ///
    /// # Safety
    /// `context` must come from [`Context::create`] and is not used afterwards.
    pub(crate) unsafe fn destroy(context: *mut Self) {
        // SAFETY: the caller's promise.
        unsafe {
            memory::free_blocks(context);
            if !(*context).workspace_is_callers {
                memory::free((*context).workspace);
            }
            memory::free(context.cast());
        }
    }

    /// Makes the arena at least `bytes` large.
    pub(crate) fn reserve(&mut self, bytes: u64) -> Result<(), Status> {
        if bytes <= self.workspace_bytes {
            return Ok(());
        }
        if self.workspace_is_callers {
            self.fail("the workspace is too small: bytes needed: ");
            // Room to align the start is part of what is needed.
            self.append_number(bytes + 64);
            return Err(Status::WorkspaceTooSmall);
        }
        let larger = usize::try_from(bytes).map_or(core::ptr::null_mut(), memory::allocate);
        if larger.is_null() {
            self.fail("out of memory: workspace bytes needed: ");
            self.append_number(bytes);
            return Err(Status::OutOfMemory);
        }
        // SAFETY: the old workspace is this context's own.
        unsafe { memory::free(self.workspace) };
        self.workspace = larger;
        self.workspace_bytes = bytes;
        Ok(())
    }

    /// Starts a message.
    pub(crate) fn fail(&mut self, text: &str) {
        self.message_length = 0;
        self.append(text.as_bytes());
    }

    /// Removes the message.
    pub(crate) fn clear_message(&mut self) {
        self.message_length = 0;
        self.message[0] = 0;
    }

    /// Continues the message; what does not fit is cut off.
    pub(crate) fn append(&mut self, text: &[u8]) {
        for &byte in text {
            if self.message_length + 1 < MESSAGE_BYTES {
                self.message[self.message_length] = byte;
                self.message_length += 1;
            }
        }
        if let Some(end) = self.message.get_mut(self.message_length) {
            *end = 0;
        }
    }

    /// Continues the message with a C string.
    ///
    /// # Safety
    /// `text` must be null or a C string.
    pub(crate) unsafe fn append_c(&mut self, text: *const c_char) {
        if !text.is_null() {
            // SAFETY: the caller's promise.
            self.append(unsafe { core::ffi::CStr::from_ptr(text) }.to_bytes());
        }
    }

    /// Continues the message with a number.
    pub(crate) fn append_number(&mut self, mut number: u64) {
        let mut digits = [0u8; 20];
        let mut first = digits.len();
        while first > 0 {
            first -= 1;
            if let Some(digit) = digits.get_mut(first) {
                *digit = b'0' + (number % 10) as u8;
            }
            number /= 10;
            if number == 0 {
                break;
            }
        }
        self.append(digits.get(first..).unwrap_or_default());
    }

    /// Continues the message with a signed number.
    pub(crate) fn append_signed(&mut self, number: i64) {
        if number < 0 {
            self.append(b"-");
        }
        self.append_number(number.unsigned_abs());
    }

    pub(crate) fn message(&self) -> *const c_char {
        self.message.as_ptr().cast()
    }
}
