/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Every difference between the Ganesha versions we build against, and nothing else. The key is
 * Ganesha's own version: 15 still says FSAL API 14, and has two more methods.
 *
 *   version       RA_GANESHA_VERSION  API  slots of obj, export, module
 *    4.3          403                 11   53  34  12   Debian 12
 *    5.9          509                 12   54  34  12   its backports
 *    6.5          605                 13   54  34  13   Debian 13
 *    7.2          702                 13 or 14          headers not seen: as the API says
 *    9.14         914                 14   54  35  17   its backports, forky
 *   10 to 14                                            unknown: refused
 *   15.2         1502                14   56  35  17   unstable; headers not seen
 *
 * The counts of slots are checked below: a table of another size does not compile. What stands
 * in a slot is checked by the compiler (-Werror=incompatible-pointer-types) and by
 * scripts/abi-check. The build defines RA_GANESHA_VERSION, 100 * major + minor, from the server's
 * library (cmake/FindGanesha.cmake). Include this header after nothing: it pulls in fsal.h.
 */
#ifndef RA_COMPAT_H
#define RA_COMPAT_H

#include "config.h"

#include <string.h>

#include "fsal.h"
#include "fsal_api.h"
#include "FSAL/fsal_init.h"
#include "FSAL/fsal_commonlib.h"
#include "FSAL/fsal_config.h"
#include "fsal_convert.h"
#include "config_parsing.h"
#include "export_mgr.h"

#ifndef RA_GANESHA_VERSION
#error "RA_GANESHA_VERSION is not defined: 100 * major + minor of the server's version"
#endif

/* Which generation of the API: what a version adds stays in those after it. */
#define RA_FROM_5_9 (RA_GANESHA_VERSION >= 500)
#define RA_FROM_6_5 (RA_GANESHA_VERSION >= 600)
/* 7 and 8 belong before or behind this change. */
#define RA_FROM_9_14                                                                               \
	(RA_GANESHA_VERSION >= 900 || (RA_GANESHA_VERSION >= 700 && FSAL_MAJOR_VERSION >= 14))
#define RA_FROM_15_2 (RA_GANESHA_VERSION >= 1500)

#if RA_GANESHA_VERSION < 403 || (RA_GANESHA_VERSION >= 1000 && RA_GANESHA_VERSION < 1500) ||       \
	RA_GANESHA_VERSION >= 1600
#error "Ganesha's version is none of 4.3 to 9 and 15: what it changed is not known here"
#endif
#if FSAL_MAJOR_VERSION != 11 + RA_FROM_5_9 + RA_FROM_6_5 + RA_FROM_9_14
#error "The headers' FSAL API is not that of RA_GANESHA_VERSION: headers of another version"
#endif

#define RA_SLOTS(type) (sizeof(type) / sizeof(void (*)(void)))
#define RA_OBJ_SLOTS   (53 + RA_FROM_5_9 + 2 * RA_FROM_15_2)
_Static_assert(RA_SLOTS(struct fsal_obj_ops) == RA_OBJ_SLOTS,
	       "struct fsal_obj_ops is not that of RA_GANESHA_VERSION");
_Static_assert(RA_SLOTS(struct export_ops) == 34 + RA_FROM_9_14,
	       "struct export_ops is not that of RA_GANESHA_VERSION");
_Static_assert(RA_SLOTS(struct fsal_ops) == 12 + RA_FROM_6_5 + 4 * RA_FROM_9_14,
	       "struct fsal_ops is not that of RA_GANESHA_VERSION");

/*
 * Attributes of the directory before and after a change (6.5): parameters at the end of the
 * methods that change a directory. RA_DIR_PARAMS declares them, RA_DIR_ARGS hands them on.
 */
#if RA_FROM_6_5
#define RA_DIR_PARAMS , struct fsal_attrlist *dir_pre, struct fsal_attrlist *dir_post
#define RA_DIR_ARGS   , dir_pre, dir_post
#define RA_DIR2_PARAMS                                                                             \
	RA_DIR_PARAMS, struct fsal_attrlist *dir2_pre, struct fsal_attrlist *dir2_post
#define RA_DIR2_ARGS RA_DIR_ARGS, dir2_pre, dir2_post
#else
#define RA_DIR_PARAMS
#define RA_DIR_ARGS
#define RA_DIR2_PARAMS
#define RA_DIR2_ARGS
#endif

/* Handles join their module's list; from 6.5 that is the caller's choice. */
#if RA_FROM_6_5
#define ra_obj_handle_init(obj, exp, type) fsal_obj_handle_init(obj, exp, type, true)
#define ra_obj_handle_fini(obj)		   fsal_obj_handle_fini(obj, true)
#else
#define ra_obj_handle_init(obj, exp, type) fsal_obj_handle_init(obj, exp, type)
#define ra_obj_handle_fini(obj)		   fsal_obj_handle_fini(obj)
#endif

/*
 * From 5 open files are in a list of the core's, which ends before a FSAL's handles do: a file that a
 * request still referred to at SIGTERM is closed after that, and the server aborts.
 */
#define RA_MUST_CLOSE_FILES RA_FROM_5_9

/* A READ of our own: its argument, with room for one part. */
#if RA_FROM_6_5
struct ra_io_arg {
	struct fsal_io_arg arg;
	struct iovec iov[1];
	size_t last;
};
#else
struct ra_io_arg {
	union {
		struct fsal_io_arg arg;
		char room[sizeof(struct fsal_io_arg) + sizeof(struct iovec)];
	};
};
#endif

static inline struct fsal_io_arg *ra_io_arg_init(struct ra_io_arg *io, void *buffer, size_t len,
						 uint64_t offset)
{
	struct fsal_io_arg *arg = &io->arg;

	memset(io, 0, sizeof(*io));
#if RA_FROM_6_5
	arg->iov = io->iov;
	arg->io_request = len;
	arg->last_iov_buf_size = &io->last;
#endif
	arg->offset = offset;
	arg->iov_count = 1;
	arg->iov[0].iov_base = buffer;
	arg->iov[0].iov_len = len;
	return arg;
}

/* Whether a FSAL wants a second call to end it: from 5.0 on. */
static inline bool ra_io_wants_resume(const struct fsal_io_arg *arg)
{
#if RA_FROM_5_9
	return arg->fsal_resume != 0;
#else
	(void)arg;
	return false;
#endif
}

/* A FSAL that brought buffers of its own has them back. */
static inline void ra_io_arg_fini(struct fsal_io_arg *arg)
{
#if RA_FROM_6_5
	if (arg->iov_release != NULL && arg->release_data != NULL)
		arg->iov_release(arg->release_data);
#endif
}

/* The lock of struct fsal_module. */
#if RA_FROM_5_9
#define RA_MODULE_LOCK fsm_lock
#else
#define RA_MODULE_LOCK lock
#endif

/* What readlink fills. */
#if RA_FROM_9_14
typedef utf8string ra_link_content;
#else
typedef struct gsh_buffdesc ra_link_content;
#endif

/* Items of a configuration that may come more than once: blocks; tokens, handed on one by one. */
#if RA_FROM_5_9
#define RA_CONF_ITEM_BLOCKS CONF_ITEM_BLOCK_MULT
#define RA_CONF_ITEM_TOKENS CONF_ITEM_PROC_MULT
#else
#define RA_CONF_ITEM_BLOCKS CONF_ITEM_BLOCK
#define RA_CONF_ITEM_TOKENS CONF_ITEM_PROC
#endif

/* export_ops::free_state went away with 5: the state's own callback does it. */
#define RA_HAVE_FREE_STATE	 (!RA_FROM_5_9)
#define RA_HAVE_READDIR_MODE	 RA_FROM_9_14
#define RA_HAVE_DELEG_TRANSITION RA_FROM_9_14

/* fsal_obj_ops::control, which FSALs may leave at the default, and ::copy_file_range (COPY of 4.2) */
#define RA_HAVE_CONTROL_AND_COPY RA_FROM_15_2

#endif /* RA_COMPAT_H */
