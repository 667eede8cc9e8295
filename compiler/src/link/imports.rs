//! Which libc symbols an artifact may import.

/// What an artifact may leave for the host program's libc to resolve.
///
/// References carry no symbol version and the library names no libc, so the same file loads under glibc and musl. Under
/// glibc an unversioned reference binds to the oldest version of a symbol. That is harmless for the functions listed
/// here; it is not for `pthread_cond_*`, whose oldest version on x86-64 allocates memory behind the caller's back, so
/// those are absent: wait on a futex through `syscall` instead.
const LIBC: &[&str] = &[
    // Memory and strings. Compilers generate calls to the first five.
    "memcpy",
    "memmove",
    "memset",
    "memcmp",
    "bcmp",
    "strlen",
    "malloc",
    "calloc",
    "realloc",
    "free",
    "aligned_alloc",
    "posix_memalign",
    // Threads and waiting.
    "pthread_create",
    "pthread_join",
    "pthread_detach",
    "pthread_self",
    "pthread_attr_init",
    "pthread_attr_destroy",
    "pthread_attr_setstacksize",
    "pthread_sigmask",
    "pthread_mutex_*",
    "pthread_setaffinity_np",
    "pthread_getaffinity_np",
    "sched_yield",
    "sched_getaffinity",
    "sigfillset",
    "nanosleep",
    "syscall",
    // The system: processor count, page size, process id, time, files of weights.
    "sysconf",
    "getpid",
    "getauxval",
    "clock_gettime",
    "mmap",
    "munmap",
    "madvise",
    "mprotect",
    "open",
    "close",
    "read",
    "pread",
    "fstat",
    "getenv",
    "__errno_location",
    // The GPU driver's library.
    "dlopen",
    "dlsym",
    "dlclose",
    "dlerror",
    "dladdr",
    // Never called by the stub's own code, but named by code that rustc generates for it.
    "abort",
];

/// The libc symbols allowed by default: memory, threads, a few system queries and the dynamic loader. A trailing `*`
/// stands for any ending.
pub fn default_allowed_imports() -> Vec<String> {
    LIBC.iter().map(|name| (*name).to_owned()).collect()
}

/// Whether `name` is in `allowed`, where an entry that ends in `*` allows every name that it begins.
pub(super) fn is_allowed(name: &[u8], allowed: &[String]) -> bool {
    allowed.iter().any(|entry| match entry.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning.as_bytes()),
        None => name == entry.as_bytes(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_beginnings() {
        let allowed = ["memcpy".to_owned(), "pthread_mutex_*".to_owned()];
        assert!(is_allowed(b"memcpy", &allowed));
        assert!(is_allowed(b"pthread_mutex_lock", &allowed));
        assert!(!is_allowed(b"memcpy2", &allowed));
        assert!(!is_allowed(b"pthread_cond_wait", &allowed));
    }
}
