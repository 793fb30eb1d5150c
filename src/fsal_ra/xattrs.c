/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Extended attributes: the old interface (by name and by number) and that of RFC 8276.
 */
#include "subcall.h"

static fsal_status_t list_ext_attrs(struct fsal_obj_handle *obj_hdl, unsigned int cookie,
				    struct fsal_xattrent *tab, unsigned int tab_size,
				    unsigned int *returned, int *end_of_list)
{
	return SUB_OBJ(obj_hdl, list_ext_attrs, cookie, tab, tab_size, returned, end_of_list);
}

static fsal_status_t getextattr_id_by_name(struct fsal_obj_handle *obj_hdl, const char *name,
					   unsigned int *id)
{
	return SUB_OBJ(obj_hdl, getextattr_id_by_name, name, id);
}

static fsal_status_t getextattr_value_by_name(struct fsal_obj_handle *obj_hdl, const char *name,
					      void *buffer, size_t size, size_t *output_size)
{
	return SUB_OBJ(obj_hdl, getextattr_value_by_name, name, buffer, size, output_size);
}

static fsal_status_t getextattr_value_by_id(struct fsal_obj_handle *obj_hdl, unsigned int id,
					    void *buffer, size_t size, size_t *output_size)
{
	return SUB_OBJ(obj_hdl, getextattr_value_by_id, id, buffer, size, output_size);
}

static fsal_status_t setextattr_value(struct fsal_obj_handle *obj_hdl, const char *name,
				      void *buffer, size_t size, int create)
{
	return ra_changed(obj_hdl, SUB_OBJ(obj_hdl, setextattr_value, name, buffer, size, create));
}

static fsal_status_t setextattr_value_by_id(struct fsal_obj_handle *obj_hdl, unsigned int id,
					    void *buffer, size_t size)
{
	return ra_changed(obj_hdl, SUB_OBJ(obj_hdl, setextattr_value_by_id, id, buffer, size));
}

static fsal_status_t remove_extattr_by_id(struct fsal_obj_handle *obj_hdl, unsigned int id)
{
	return ra_changed(obj_hdl, SUB_OBJ(obj_hdl, remove_extattr_by_id, id));
}

static fsal_status_t remove_extattr_by_name(struct fsal_obj_handle *obj_hdl, const char *name)
{
	return ra_changed(obj_hdl, SUB_OBJ(obj_hdl, remove_extattr_by_name, name));
}

static fsal_status_t getxattrs(struct fsal_obj_handle *obj_hdl, xattrkey4 *name, xattrvalue4 *value)
{
	return SUB_OBJ(obj_hdl, getxattrs, name, value);
}

static fsal_status_t setxattrs(struct fsal_obj_handle *obj_hdl, setxattr_option4 option,
			       xattrkey4 *name, xattrvalue4 *value)
{
	return ra_changed(obj_hdl, SUB_OBJ(obj_hdl, setxattrs, option, name, value));
}

static fsal_status_t removexattrs(struct fsal_obj_handle *obj_hdl, xattrkey4 *name)
{
	return ra_changed(obj_hdl, SUB_OBJ(obj_hdl, removexattrs, name));
}

static fsal_status_t listxattrs(struct fsal_obj_handle *obj_hdl, count4 maxcount,
				nfs_cookie4 *cookie, bool_t *eof, xattrlist4 *names)
{
	return SUB_OBJ(obj_hdl, listxattrs, maxcount, cookie, eof, names);
}

void ra_xattr_ops_init(struct fsal_obj_ops *ops)
{
	ops->list_ext_attrs = list_ext_attrs;
	ops->getextattr_id_by_name = getextattr_id_by_name;
	ops->getextattr_value_by_name = getextattr_value_by_name;
	ops->getextattr_value_by_id = getextattr_value_by_id;
	ops->setextattr_value = setextattr_value;
	ops->setextattr_value_by_id = setextattr_value_by_id;
	ops->remove_extattr_by_id = remove_extattr_by_id;
	ops->remove_extattr_by_name = remove_extattr_by_name;
	ops->getxattrs = getxattrs;
	ops->setxattrs = setxattrs;
	ops->removexattrs = removexattrs;
	ops->listxattrs = listxattrs;
}
