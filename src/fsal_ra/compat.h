/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Every difference between the Ganesha versions we build against, and nothing else.
 *
 *   Ganesha  4.3   API 11   Debian 12
 *   Ganesha  6.5   API 13   Debian 13
 *   Ganesha  9.14  API 14   Debian forky
 *
 * The API number is FSAL_MAJOR_VERSION. Include this header after nothing: it pulls in fsal.h.
 */
#ifndef RA_COMPAT_H
#define RA_COMPAT_H

#include "config.h"
#include "fsal.h"
#include "fsal_api.h"
#include "FSAL/fsal_init.h"
#include "FSAL/fsal_commonlib.h"
#include "FSAL/fsal_config.h"
#include "fsal_convert.h"
#include "config_parsing.h"
#include "export_mgr.h"

#define RA_API_4_3  11
#define RA_API_6_5  13
#define RA_API_9_14 14

#if FSAL_MAJOR_VERSION < RA_API_4_3 || FSAL_MAJOR_VERSION > RA_API_9_14
#error "This Ganesha's FSAL API is not one of 11 (4.3) to 14 (9.14)"
#endif

/*
 * Attributes of the directory before and after a change (API 13): parameters at the end of the
 * methods that change a directory. RA_DIR_PARAMS declares them, RA_DIR_ARGS hands them on.
 */
#if FSAL_MAJOR_VERSION >= RA_API_6_5
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

/* Handles join their module's list; from API 13 that is the caller's choice. */
#if FSAL_MAJOR_VERSION >= RA_API_6_5
#define ra_obj_handle_init(obj, exp, type) fsal_obj_handle_init(obj, exp, type, true)
#define ra_obj_handle_fini(obj)		   fsal_obj_handle_fini(obj, true)
#else
#define ra_obj_handle_init(obj, exp, type) fsal_obj_handle_init(obj, exp, type)
#define ra_obj_handle_fini(obj)		   fsal_obj_handle_fini(obj)
#endif

/*
 * From API 13 open files are in a list of the core's, which ends before a FSAL's handles do: a file that a
 * request still referred to at SIGTERM is closed after that, and the server aborts.
 */
#define RA_MUST_CLOSE_FILES (FSAL_MAJOR_VERSION >= RA_API_6_5)

/* The lock of struct fsal_module. */
#if FSAL_MAJOR_VERSION >= RA_API_6_5
#define RA_MODULE_LOCK fsm_lock
#else
#define RA_MODULE_LOCK lock
#endif

/* What readlink fills. */
#if FSAL_MAJOR_VERSION >= RA_API_9_14
typedef utf8string ra_link_content;
#else
typedef struct gsh_buffdesc ra_link_content;
#endif

/* Items of a configuration that may come more than once: blocks; tokens, handed on one by one. */
#if FSAL_MAJOR_VERSION >= RA_API_6_5
#define RA_CONF_ITEM_BLOCKS CONF_ITEM_BLOCK_MULT
#define RA_CONF_ITEM_TOKENS CONF_ITEM_PROC_MULT
#else
#define RA_CONF_ITEM_BLOCKS CONF_ITEM_BLOCK
#define RA_CONF_ITEM_TOKENS CONF_ITEM_PROC
#endif

/* export_ops::free_state went away with API 13: the state's own callback does it. */
#define RA_HAVE_FREE_STATE	 (FSAL_MAJOR_VERSION < RA_API_6_5)
#define RA_HAVE_READDIR_MODE	 (FSAL_MAJOR_VERSION >= RA_API_9_14)
#define RA_HAVE_DELEG_TRANSITION (FSAL_MAJOR_VERSION >= RA_API_9_14)

#endif /* RA_COMPAT_H */
